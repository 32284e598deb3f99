// Asks for the arguments of a change before its dry run.
import {h} from './dom.js';

/** `fields`: {name, label, hint, value, isRequired, isLong, isFlag, options}. Resolves to their values; null: closed. */
export function ask({title, text, fields, verb = 'Continue', extra}) {
  return new Promise((resolve) => {
    const inputs = fields.map((field) => [field, inputOf(field)]);
    const form = h('form', {method: 'dialog'},
                   h('h2', {id: 'ask-title'}, title),
                   text ? h('p', {}, text) : '',
                   ...inputs.map(([field, input]) => field.isFlag ? h('label', {class: 'flag'}, input, ' ' + field.label)
                                                                  : h('label', {}, field.label, input)),
                   extra ? extra(() => valuesOf(inputs)) : '',
                   h('div', {class: 'buttons'}, h('button', {type: 'submit', class: 'primary'}, verb),
                     h('button', {type: 'button', class: 'cancel'}, 'Cancel')));
    const dialog = h('dialog', {'aria-labelledby': 'ask-title', class: fields.some((field) => field.isLong) ? 'ask wide' : 'ask'}, form);
    let values = null;
    form.addEventListener('submit', () => { values = valuesOf(inputs); });
    form.querySelector('.cancel').addEventListener('click', () => dialog.close());
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(values);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

const valuesOf = (inputs) => Object.fromEntries(inputs.map(([{name, isFlag, isLong}, input]) =>
  [name, isFlag ? input.checked : isLong ? input.value : input.value.trim()]));

function inputOf({hint, value, isRequired, isLong, isFlag, options}) {
  if (isFlag) return h('input', {type: 'checkbox'});
  if (options) return h('select', {}, ...options.map((option) => h('option', {value: option}, option)));
  const out = isLong ? h('textarea', {rows: '12', spellcheck: 'false', dir: 'ltr'})
                     : h('input', {type: 'text', placeholder: hint ?? '', autocomplete: 'off'});
  out.value = value ?? '';
  out.required = Boolean(isRequired);
  return out;
}
