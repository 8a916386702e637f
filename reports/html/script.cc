// The page's only script: tables sort by a button in each column head.
#include "reports/html/parts.h"

namespace thinpipe::html {

// Buttons are put in by the script itself, so a page without scripts shows plain tables. Cells
// without a value sort last in either direction.
std::string script() {
  return R"js('use strict';
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
}

}  // namespace thinpipe::html
