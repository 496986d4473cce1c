// row: modules.TypeScript, exit codes.107
export default function (: void {}
