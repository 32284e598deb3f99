// The light beside the name, on every screen: the same judgement as `inboxd status`, and yellow for an hour after a crash.
const light = document.getElementById('light');
const crash_seconds = 3_600;

export function setLight(tone, text) {
  light.className = tone;
  light.parentNode.title = text;
  light.parentNode.setAttribute('aria-label', 'inboxd, overview: ' + text);
}

/** Instances that went away within the last hour without a word. */
export const crashesOf = ({instances}) => instances.filter((each) => each.is_gone && each.unseen_seconds < crash_seconds);

/** `good`, `warn` or `bad`; of /v1/status. */
export const toneOf = (status) => status.findings.some(({severity}) => severity === 'problem') ? 'bad' :
  status.findings.length > 0 || crashesOf(status).length > 0 ? 'warn' : 'good';

const plural = (count, one) => `${count} ${one}${count === 1 ? '' : 's'}`;

/** A sentence: `2 problems, 1 remark`. */
export function sentenceOf(status) {
  const problems = status.findings.filter(({severity}) => severity === 'problem').length;
  const remarks = status.findings.length - problems;
  const crashes = crashesOf(status).length;
  const parts = [problems && plural(problems, 'problem'), remarks && plural(remarks, 'remark'),
                 crashes && plural(crashes, 'crash').replace(/hs$/, 'hes') + ' within the last hour'].filter(Boolean);
  return parts.length === 0 ? 'All is well' : (problems ? '' : 'No problems; ') + parts.join(', ');
}

export const showStatus = (status) => setLight(toneOf(status), sentenceOf(status));
