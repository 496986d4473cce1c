// row: exit codes.107
export default function () { let = ; }
