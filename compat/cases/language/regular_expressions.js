// row: language
export default function () {
  console.log('2024-05-06'.match(/(?<y>\d{4})-(?<m>\d\d)/).groups.y, 'aBc'.replace(/b/i, (m) => m + m), 'a1b2'.split(/\d/).join(), [...'x1y2'.matchAll(/[a-z](\d)/g)].map((m) => m[1]).join());
  console.log(/^\p{L}+$/u.test('žluť'), /(?<=\$)\d+/.exec('$42')[0], 'a\nb'.match(/a.b/s) !== null, /a/y.test('ba'));
}
