// All screens: the first part of the address, the word in the navigation (none: reached from another screen), the module.
export const screens = [
  {name: '', word: 'Overview', module: () => import('./screens/overview.js')},
  {name: 'events', word: 'Events', module: () => import('./screens/events.js')},
  {name: 'event', of: 'events', module: () => import('./screens/event.js')},
  {name: 'failures', word: 'Failures', module: () => import('./screens/failures.js')},
  {name: 'failure', of: 'failures', module: () => import('./screens/failure.js')},
  {name: 'keys', word: 'Blocked keys', module: () => import('./screens/keys.js')},
  {name: 'quarantine', word: 'Quarantine', module: () => import('./screens/quarantine.js')},
  {name: 'record', of: 'quarantine', module: () => import('./screens/record.js')},
  {name: 'handlers', word: 'Handlers', module: () => import('./screens/handlers.js')},
  {name: 'handler', of: 'handlers', module: () => import('./screens/handler.js')},
  {name: 'partitions', word: 'Partitions', module: () => import('./screens/partitions.js')},
  {name: 'outbox', word: 'Outbox', module: () => import('./screens/outbox.js')},
  {name: 'audit', word: 'Audit', module: () => import('./screens/audit.js')},
  {name: 'configuration', word: 'Configuration', module: () => import('./screens/configuration.js')},
];
