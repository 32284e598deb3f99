// The light beside the name, on every screen: the same as `inboxd status`.
const light = document.getElementById('light');

export function setLight(tone, text) {
  light.className = tone;
  light.parentNode.title = text;
  light.parentNode.setAttribute('aria-label', 'inboxd, overview: ' + text);
}

/** `good`, `warn` or `bad`; of /v1/status. */
export const toneOf = ({findings}) => findings.some(({severity}) => severity === 'problem') ? 'bad' :
  findings.some(({severity}) => severity === 'warning') ? 'warn' : 'good';

export const showStatus = (status) => setLight(toneOf(status), status.verdict);
