// The page's only script: tables sort and filter, commands and data can be copied and saved.
#include "reports/html/parts.h"

namespace thinpipe::html {
namespace {

// Buttons are put in by the script itself, so a page without scripts shows plain tables. Cells
// without a value sort last in either direction.
const char* const kSorting = R"js('use strict';
for (const table of document.querySelectorAll('table.sortable')) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = head.textContent;
    head.textContent = '';
    head.appendChild(button);
    const isNumeric = [...body.rows].some((row) => row.cells[column].hasAttribute('data-value'));
    const key = (row) => {
      const cell = row.cells[column];
      if (!isNumeric) return cell.textContent;
      return cell.hasAttribute('data-value') ? Number(cell.getAttribute('data-value')) : null;
    };
    button.addEventListener('click', () => {
      const sign = head.getAttribute('aria-sort') === 'ascending' ? -1 : 1;
      heads.forEach((other) => other.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', sign === 1 ? 'ascending' : 'descending');
      const rows = [...body.rows].map((row) => [key(row), row]);
      rows.sort(([a], [b]) => {
        if (a === null || b === null) return (a === null) - (b === null);
        return sign * (isNumeric ? a - b : a.localeCompare(b));
      });
      body.append(...rows.map(([, row]) => row));
    });
  });
}
)js";

// A row is shown when every word of the search stands in it and its facets are the chosen ones.
// What a cell sets smaller is no part of its facet.
const char* const kFiltering = R"js(const facetOf = (cell) => cell.firstChild.nodeType === 3 ?
  cell.firstChild.data : cell.childNodes.length > 1 && cell.childNodes[1].nodeType === 3 ?
  cell.childNodes[1].data : cell.textContent;
for (const table of document.querySelectorAll('table[data-facets]')) {
  const rows = [...table.tBodies[0].rows];
  const bar = document.createElement('div');
  bar.className = 'filters';
  bar.setAttribute('role', 'search');
  const labelled = (text, control) => {
    const label = document.createElement('label');
    label.append(text, control);
    bar.append(label);
    return control;
  };
  const search = labelled('Search', document.createElement('input'));
  search.type = 'search';
  const facets = table.dataset.facets.split(' ').map(Number).map((column) => {
    const head = table.tHead.rows[0].cells[column].textContent;
    const values = [...new Set(rows.map((row) => facetOf(row.cells[column])))];
    if (values.length < 2) return null;
    const select = labelled(head, document.createElement('select'));
    select.append(new Option('all', ''), ...values.map((value) => new Option(value, value)));
    return [column, select];
  }).filter(Boolean);
  const count = document.createElement('output');
  bar.append(count);
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const show = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, i) => {
      row.hidden = !words.every((word) => texts[i].includes(word)) ||
        !facets.every(([column, select]) => !select.value ||
          facetOf(row.cells[column]) === select.value);
      shown += !row.hidden;
    });
    count.textContent = `${shown} of ${rows.length} rows`;
  };
  bar.addEventListener('input', show);
  show();
  table.parentElement.before(bar);
}
)js";

// Buttons come when a part is opened: a page of hundreds of them would open late.
const char* const kCopying = R"js(const copy = async (code, button) => {
  const text = code.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
  } catch {
    getSelection().selectAllChildren(code);
    button.textContent = document.execCommand('copy') ? 'Copied' : 'Selected: press Ctrl+C';
  }
  setTimeout(() => { button.textContent = 'Copy'; }, 2000);
};
const save = (name, text) => {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], {type: 'text/csv'}));
  link.download = name + '.csv';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};
document.addEventListener('toggle', ({target}) => {
  if (!target.matches('details.data,details.command') || target.querySelector('.tool')) return;
  const code = target.querySelector('code');
  const tool = (text, act) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'tool';
    button.textContent = text;
    button.addEventListener('click', () => act(button));
    code.parentElement.before(button);
  };
  tool('Copy', (button) => copy(code, button));
  if (target.matches('.data')) tool('Save', () => save(target.dataset.name, code.textContent));
}, true);
)js";

}  // namespace

std::string script() { return std::string(kSorting) + kFiltering + kCopying; }

}  // namespace thinpipe::html
