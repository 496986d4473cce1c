// row: globals.open, exit codes.107
open('./material/nowhere.txt');
export default function () {}
