// passed: 51
import { check } from 'k6';
import { parseHTML } from 'k6/html';
import http from 'k6/http';

const thrown = (call) => {
  try {
    call();
    return 'nothing';
  } catch (error) {
    return String(error);
  }
};
const page = `<!DOCTYPE html><title>T</title><ul id=u data-user-id=5 data-a='{"x":1}' data-b=true data-user-name=bob data-e="">
<li class="a b">1<li>2 &amp; "q"<li class=a>3</ul><a href="/x?y=1#z" rel="r s" id=an>link</a>
<form action="/go?x=1" method=post><input name=t value=1 id=ti><label for=ti>L</label><select name=s multiple><option selected>x
<option selected value=y>Y</select><input type=submit name=go value=Go></form><form id=get><input name=q value="a b"></form>`;

export default function () {
  const doc = parseHTML(page);
  const li = doc.find('li');
  const same = (found, expected) => JSON.stringify(found) === JSON.stringify(expected);
  check(doc, {
    'find': (d) => d.find('li.a').size() === 2,
    'find in a selection': (d) => d.find('ul').find('li').size() === 3,
    'find what makes no sense': (d) => d.find('li:[').size() === 0,
    'find by a number': (d) => thrown(() => d.find(5)) === "GoError: invalid argument, cannot use a 'int64' as a selector",
    'find by nothing': (d) => thrown(() => d.find()) === "GoError: invalid argument, cannot use a '<nil>' as a selector",
    'find by text': (d) => d.find('li:contains("2")').size() === 1,
    'text': () => li.text() === '12 & "q"3',
    'text of nothing': (d) => d.find('nope').text() === '' && d.find('nope').html() === '',
    'html': () => li.eq(1).html() === '2 &amp; &#34;q&#34;\n'.trimEnd(),
    'attr': () => li.attr('class') === 'a b' && li.attr('x') === undefined && li.attr('x', 5) === 5,
    'add': (d) => li.add('a').size() === 4 && li.add(d.find('a')).add(d.find('a')).size() === 4,
    'closest': (d) => li.closest('ul').size() === 1 && li.closest('p').size() === 0,
    'has': (d) => d.find('ul').has('li').size() === 1 && d.find('ul').has('p').size() === 0,
    'not': () => li.not('.a').size() === 1 && li.not((i) => i === 1).size() === 2,
    'filter': () => li.filter('.b').size() === 1 && li.filter((i, s) => i === 2).text() === '3',
    'filter by a number': () => thrown(() => li.filter(5)) === 'GoError: the argument to filter() must be a function, a selector or a selection',
    'is': (d) => li.is('.b') && li.is(d.find('.a')) && li.is((i) => i === 2) && !li.is('p'),
    'each': () => {
      const seen = [];
      const size = li.each((i, e) => seen.push(i + e.nodeName())).size();
      return size === 3 && seen.join() === '0li,1li,2li';
    },
    'each by a number': () => thrown(() => li.each(5)) === 'GoError: the argument to each() must be a function',
    'map': () => same(li.map((i, s) => i + s.text()), ['01', '12 & "q"', '23']),
    'map where it throws': () => li.map(() => { throw new Error('x'); }).length === 0,
    'slice': () => li.slice(1).size() === 2 && li.slice(0, 2).size() === 2 && li.slice(1, 99).size() === 2 && li.slice(-1).size() === 1,
    'get': () => li.get().length === 3 && li.get(9) === undefined && li.get(-1).textContent() === '3' && li.get(-3) === undefined,
    'toArray': () => li.toArray().length === 3 && li.toArray()[2].text() === '3',
    'first, last, eq, end': () => li.first().text() === '1' && li.last().text() === '3' && li.eq(-1).text() === '3' && li.eq(0).end().size() === 3,
    'index': (d) => li.eq(1).index() === 1 && li.index(li.eq(2)) === 2 && li.eq(2).index('li') === 2 && li.index(5) === -1 && d.find('nope').index() === -1,
    'siblings': () => li.eq(1).siblings().size() === 2 && li.eq(1).siblings('.b').size() === 1,
    'next and prev': () => li.eq(1).next().text() === '3' && li.eq(1).prev().text() === '1' && li.next('.a').size() === 1,
    'nextAll and prevAll': () => li.eq(0).nextAll().size() === 2 && li.eq(2).prevAll('.b').size() === 1,
    'parent and parents': () => li.parent().size() === 1 && li.parents().size() === 3 && li.parents('body').size() === 1,
    'until': () => li.eq(0).nextUntil(li.eq(2)).size() === 1 && li.eq(0).nextUntil().size() === 2 && li.eq(2).prevUntil('.b').size() === 1,
    'until, filtered': () => li.eq(0).nextUntil(null, '.a').text() === '3' && li.eq(0).parentsUntil('body').size() === 1,
    'children and contents': (d) => d.find('ul').children().size() === 3 && d.find('ul').children('.a').size() === 2 && d.find('ul').contents().size() === 4,
    'data': (d) => {
      const data = d.find('ul').data();
      return data.userID === 5 && data.a.x === 1 && data.b === true && data.userName === 'bob';
    },
    'data by name': (d) => d.find('ul').data('userId') === 5 && d.find('ul').data('user-id') === 5 && d.find('ul').data('zz') === undefined,
    'val': (d) => same([d.find('select').val(), d.find('input').val(), d.find('option').val()], [['x\n', 'y'], '1', 'x\n']),
    'serialize': (d) => d.find('form').first().serialize() === 's=x%0A&s=y&t=1',
    'serializeArray': (d) => same(d.find('form').first().serializeArray(), [{ name: 't', value: '1' }, { name: 's', value: ['x\n', 'y'] }]),
    'serializeObject': (d) => d.find('form').first().serializeObject().t === '1',
  });
  const a = doc.find('a').get(0);
  const first = li.get(0);
  check(null, {
    'names of an element': () => a.id() === 'an' && a.nodeName() === 'a' && a.nodeType() === 1 && a.textContent() === 'link',
    'attributes': () => a.getAttribute('href') === '/x?y=1#z' && a.getAttribute('zz') === undefined && a.hasAttribute('id') && a.attributes().id.value === 'an',
    'a link': () => a.href() === '/x?y=1#z' && a.relList().join() === 'r,s' && a.toString() === '/x?y=1#z',
    'around': () => first.nextElementSibling().textContent().startsWith('2') && first.previousElementSibling() === undefined && first.parentElement().id() === 'u',
    'within': () => first.firstChild().nodeName() === '#text' && first.firstChild().nodeValue() === '1' && first.childNodes().length === 1 && first.children().length === 0,
    'classes': () => first.classList().join() === 'a,b' && first.className() === 'a b' && first.matches('.a'),
    'not within itself': () => !first.contains(first),
    'back to a selection': () => first.selection().size() === 1 && first.querySelectorAll('b').length === 0 && first.querySelector('b') === undefined,
  });
  const response = Object.assign(http.get(`${__ENV.BASE}/json`), { body: page });
  const other = Object.assign(http.get(`${__ENV.BASE}/json`), { body: '<p>' });
  check(response, {
    'a response as a page': (r) => r.html().find('li').size() === 3 && r.html('li.b').text() === '1',
    'a form': (r) => {
      const { request } = r.submitForm({ fields: { t: 'new', more: '2' } });
      return request.method === 'POST' && request.url === `${__ENV.BASE}/go?x=1` && request.body.includes('t=new') && request.body.includes('more=2') && request.body.includes('go=Go');
    },
    'a form in the URL': (r) => r.submitForm({ formSelector: '#get' }).request.url === `${__ENV.BASE}/json?q=a+b`,
    'a link followed': (r) => r.clickLink().request.url.startsWith(`${__ENV.BASE}/x?y=1`) &&
      thrown(() => other.clickLink()) === `GoError: no element found for selector 'a[href]' in response '${__ENV.BASE}/json'` &&
      thrown(() => other.submitForm()) === `GoError: no form found for selector 'form' in response '${__ENV.BASE}/json'`,
  });
}
