// The daemons' table.
import {h} from '../dom.js';
import {ago, number, time} from '../format.js';
import {table} from '../table.js';

export function daemons({instances}) {
  const live = instances.filter(({is_gone}) => !is_gone);
  const digests = new Set(live.map(({configuration}) => configuration).filter(Boolean));
  const versions = new Set(live.map(({version}) => version));
  const crashes = (host) => instances.filter((each) => each.is_gone && each.host === host).length;
  return h('section', {}, h('h2', {}, 'Daemons'),
    digests.size > 1 ? h('p', {class: 'warning'}, 'The live daemons have different configurations of their handlers: reload those with the old file.') : null,
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
        {title: 'Crashes, 24 h', isNumber: true, cell: ({host}) => crashes(host) > 0 ? h('span', {class: 'text-bad'}, String(crashes(host))) : '0'},
        {title: 'Trouble', width: 16, cell: ({trouble}) => trouble ? h('span', {class: 'text-bad'}, trouble) : h('span', {class: 'faint'}, 'none')},
      ]}));
}
