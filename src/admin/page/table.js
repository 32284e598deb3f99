// A table whose rows become cards on a narrow screen.
import {h} from './dom.js';

/** With a column for the database, after the column that names the row, if the rows are of several databases. */
export const withShard = (columns, rows) => rows.some(({shard}) => shard !== undefined) ?
  columns.toSpliced(1, 0, {title: 'Shard', isNumber: true, cell: ({shard}) => String(shard ?? '–')}) : columns;

/** `columns`: {title, cell: row → child, isNumber, width: of the column, in em}; `keyOf`: row → text. */
export function table({caption, columns: given, rows, keyOf}) {
  const columns = withShard(given, rows);
  return h('div', {class: 'scroll'}, h('table', {class: 'list two', role: 'table'},
    h('caption', {class: 'unseen'}, caption),
    h('thead', {role: 'rowgroup'}, h('tr', {role: 'row'}, columns.map(({title, isNumber, width}) =>
      h('th', {scope: 'col', role: 'columnheader', class: [isNumber ? 'number' : '', width ? 'w' + width : ''].join(' ').trim() || null}, title)))),
    h('tbody', {role: 'rowgroup'}, rows.map((row) => h('tr', {role: 'row', 'data-key': keyOf(row)}, columns.map(({title, cell, isNumber}) =>
      h('td', {role: 'cell', class: isNumber ? 'number' : null, 'data-title': title}, h('div', {}, cell(row)))))))));
}

/** A count that may be a lower limit: `at_least_NAME` says so. */
export const isLimited = (row, name) => row['at_least_' + name] === true;
