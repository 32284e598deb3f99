// All screens. `name`: the first part of the address, #/NAME?parameters; `word`: in the navigation. A screen without a
// word is reached from another, `of`, whose word is marked. A module exports `title` (text, or a function of data and
// parameters), `load(parameters, {signal})` → data, `render(data, parameters)` → node, and, if it refreshes, `refreshMs`.
export const screens = [
  {name: '', word: 'Overview', module: () => import('./screens/overview.js')},
];
