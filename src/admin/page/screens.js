// All screens. `name`: the first part of the address, #/NAME?parameters; `word`: in the navigation. A screen without a
// word is reached from another, `of`, whose word is marked. A module exports `title` (text, or a function of data and
// parameters), `load(parameters, {signal})` → data, `render(data, parameters)` → node, and, if it refreshes, `refreshMs`.
export const screens = [
  {name: '', word: 'Overview', module: () => import('./screens/overview.js')},
  {name: 'events', word: 'Events', module: () => import('./screens/events.js')},
  {name: 'event', of: 'events', module: () => import('./screens/event.js')},
  {name: 'failures', word: 'Failures', module: () => import('./screens/failures.js')},
  {name: 'keys', word: 'Blocked keys', module: () => import('./screens/keys.js')},
  {name: 'quarantine', word: 'Quarantine', module: () => import('./screens/quarantine.js')},
  {name: 'handlers', word: 'Handlers', module: () => import('./screens/handlers.js')},
  {name: 'partitions', word: 'Partitions', module: () => import('./screens/partitions.js')},
  {name: 'outbox', word: 'Outbox', module: () => import('./screens/outbox.js')},
  {name: 'audit', word: 'Audit', module: () => import('./screens/audit.js')},
  {name: 'configuration', word: 'Configuration', module: () => import('./screens/configuration.js')},
];
