// The commands in a finding's remedy, as buttons: a change shows its dry run first, a list is a link.
import {confirmChange, factsOf} from './confirm.js';
import {h} from './dom.js';
import {screens} from './screens.js';

/** The words after the verb. */
const changes = {
  'events retry': [], 'events skip': ['id'], 'dead replay': [], 'quarantine retry': [], 'quarantine discard': [],
  'handlers resume': ['handler'], 'handlers restore': ['handler'], 'handlers retire': ['handler'], 'handlers backfill': ['handler'],
  'partitions accept-gap': ['topic', 'partition'], 'partitions accept-recreated': ['topic'],
};
const labels = {
  'events retry': 'Retry waiting events now', 'events skip': 'Skip the event', 'dead replay': 'Replay the dead letters',
  'quarantine retry': 'Read the records again', 'quarantine discard': 'Discard the records', 'handlers resume': 'Resume',
  'handlers restore': 'Restore', 'handlers retire': 'Retire', 'handlers backfill': 'Back-fill',
  'partitions accept-gap': 'Accept the gap', 'partitions accept-recreated': 'Accept the new topic',
};
const lists = {
  'events list': 'events', 'events show': 'event', 'dead list': 'failures', 'lanes list': 'keys', 'quarantine list': 'quarantine',
  'handlers list': 'handlers', 'partitions list': 'partitions', 'outbox list': 'outbox',
};
const words = {'events show': ['id']};

const verbs = [...Object.keys(changes), ...Object.keys(lists)].join('|');
const token = /^ +('[^']*'|[^\s']+)/;
const bare = (text) => text.startsWith("'") ? text.slice(1, -1) : text.replace(/[,;.)]+$/, '');

/** The commands that a text names: [{verb, given, command}]. Prose may follow a command. */
export function commandsIn(text) {
  const out = [];
  for (const found of text.matchAll(new RegExp(`inboxd (${verbs})(?![\\w-])`, 'g'))) {
    const verb = found[1];
    const given = {};
    let rest = text.slice(found.index + found[0].length);
    let command = found[0];
    const take = () => {
      const next = token.exec(rest);
      if (!next) return null;
      rest = rest.slice(next[0].length);
      command += next[0];
      return next[1];
    };
    for (const name of changes[verb] ?? words[verb] ?? []) given[name] = bare(take() ?? '');
    while (/^ +--[a-z]/.test(rest) && !/[,;.)]$/.test(command)) {
      const flag = take().replace(/^--/, '');
      if (/[,;.)]$/.test(flag) || !/^ +[^\s-]/.test(rest)) given[bare(flag)] = true;
      else given[flag] = bare(take());
    }
    out.push({verb, given, command: command.replace(/[,;.)]+$/, '')});
  }
  return out;
}

/** The text with its commands as code, to copy. */
export function remedyText(remedy) {
  const out = [];
  let at = 0;
  for (const {command} of commandsIn(remedy)) {
    const begin = remedy.indexOf(command, at);
    out.push(remedy.slice(at, begin), h('code', {}, command), ' ', copyCommand(command));
    at = begin + command.length;
  }
  return [...out, remedy.slice(at)];
}

const textOf = (verb, {handler, topic, id}) => [labels[verb], handler ?? topic ?? id].filter(Boolean).join(': ');

function addressOf(screen, given) {
  const query = new URLSearchParams(Object.entries(given).filter(([, value]) => typeof value === 'string'));
  return `#/${screen}${query.size > 0 ? '?' + query : ''}`;
}

export function copyCommand(command) {
  return h('button', {type: 'button', class: 'plain copy', 'aria-label': 'copy ' + command, onclick: async (event) => {
    const place = event.currentTarget;
    await navigator.clipboard?.writeText(command);
    place.textContent = navigator.clipboard ? 'copied' : 'select and copy it';  // only https and this machine may
  }}, 'copy');
}

/** Buttons and links for a remedy, the changes first. */
export function remedyButtons(remedy) {
  const found = commandsIn(remedy).sort((one, other) => (other.verb in changes) - (one.verb in changes));
  return found.flatMap(({verb, given, command}) => {
    const act = () => confirmChange({title: textOf(verb, given), path: '/v1/' + verb.replace(' ', '/'), arguments: given, verb: labels[verb], describe: factsOf, done: factsOf});
    if (verb in changes) {
      return [h('button', {type: 'button', class: 'changes', 'data-command': command, onclick: act}, labels[verb] + '…')];
    }
    return screens.some(({name}) => name === lists[verb]) ? [h('a', {class: 'button', href: addressOf(lists[verb], given)}, 'Show')] : [];
  });
}
