// row: flags.-, flags.--vus
// stdin: yes
// args: --vus 2 --iterations 4 -e NAME=value
// lines: any
export default function () { console.log(__ENV.NAME); }
