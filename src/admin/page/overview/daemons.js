// The daemons' table.
import {h} from '../dom.js';
import {ago, number, time} from '../format.js';
import {table} from '../table.js';

export function daemons({instances}) {
  const live = instances.filter(({is_gone}) => !is_gone);
  const configured = live.filter(({configuration}) => configuration);
  const count = (rows, of) => new Set(rows.map(of)).size;  // databases may have different handlers
  const areDifferent = count(configured, ({shard, configuration}) => `${shard} ${configuration}`) > count(configured, ({shard}) => shard);
  const versions = new Set(live.map(({version}) => version));
  const crashes = ({host, shard}) => instances.filter((each) => each.is_gone && each.host === host && each.shard === shard).length;
  return h('section', {}, h('h2', {}, 'Daemons'),
    areDifferent ? h('p', {class: 'warning'}, 'The live daemons have different configurations of their handlers: reload those with the old file.') : null,
    versions.size > 1 ? h('p', {class: 'warning'}, `The live daemons have different versions: ${[...versions].join(', ')}.`) : null,
    table({
      caption: 'Daemons', rows: live, keyOf: ({instance_id}) => instance_id,
      columns: [
        {title: 'Daemon', width: 14, cell: ({host, process_id}) => [h('strong', {}, host), ' ', h('span', {class: 'faint'}, 'process ' + process_id)]},
        {title: 'Version', cell: ({version}) => version},
        {title: 'Configuration', cell: ({configuration}) => configuration ? h('code', {}, configuration) : '–'},
        {title: 'Partitions', isNumber: true, cell: ({partitions}) => number(partitions)},
        {title: 'Started', cell: ({started_at}) => time(started_at)},
        {title: 'Database answered', cell: ({unseen_seconds}) => ago(unseen_seconds)},
        {title: 'Brokers answered', cell: ({brokers_unseen_seconds: unseen}) => ago(unseen)},
        {title: 'Crashes, 24 h', isNumber: true, cell: (row) => crashes(row) > 0 ? h('span', {class: 'text-bad'}, String(crashes(row))) : '0'},
        {title: 'Trouble', width: 16, cell: ({trouble}) => trouble ? h('span', {class: 'text-bad'}, trouble) : h('span', {class: 'faint'}, 'none')},
      ]}));
}
