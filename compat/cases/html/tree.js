// row: Selection.parent, Selection.children, Selection.closest, Selection.siblings
import http from 'k6/http';
import { parseHTML } from 'k6/html';
export default function () {
  const page = parseHTML(http.get(`${__ENV.BASE}/html`).body);
  console.log(page.find('span').parent().attr('id'), page.find('span').parents().size(), page.find('span').closest('#outer').attr('id'));
  console.log(page.find('#list').children().size(), page.find('#list').children('.first').text(), page.find('.first').siblings().size(), page.find('#list').contents().size());
  console.log(page.find('span').parents('div').size(), page.find('span').parentsUntil('#outer').size());
}
