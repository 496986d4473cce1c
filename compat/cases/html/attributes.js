// row: Selection.attr, Selection.data, Selection.val
import http from 'k6/http';
import { parseHTML } from 'k6/html';
export default function () {
  const page = parseHTML(http.get(`${__ENV.BASE}/html`).body);
  console.log(page.find('#list').attr('data-kind'), page.find('#list').attr('missing'), page.find('#list').attr('missing', 'default'), page.find('meta').attr('content'));
  console.log(page.find('#list').data('kind'), JSON.stringify(page.find('#list').data('json')), page.find('#list').data('count') + 1);
  console.log(page.find('[name=user]').val(), page.find('[name=colour]').val(), JSON.stringify(page.find('[name=many]').val()), page.find('textarea').val());
}
