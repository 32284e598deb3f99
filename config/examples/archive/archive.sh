#!/bin/bash
# A handler for `exec` in mode once: a process for each event. The payload is on stdin, the event in INBOXD_ variables.
# Exit status: 0 done, 65 dead, anything else retry. The last line of stderr is the message.
set -euo pipefail
folder=${ARCHIVE:?is not set}
case $INBOXD_TYPE in
    Draft) echo "drafts are not archived" >&2; exit 65 ;;
esac
cat >"$folder/.$INBOXD_EVENT_ID"                            # a retry writes the same file again
mv "$folder/.$INBOXD_EVENT_ID" "$folder/$INBOXD_EVENT_ID"
