// row: __ENV, flags.--env
// args: -e ONE=1 -e "TWO=a b=c" -e EMPTY=
// env: FROM_SYSTEM=yes
export default function () {
  console.log(__ENV.ONE, __ENV.TWO, JSON.stringify(__ENV.EMPTY), __ENV.FROM_SYSTEM, __ENV.MISSING, typeof __ENV);
  __ENV.NEW = 'x';
  console.log(__ENV.NEW);
}
