// row: globals.open
const text = open('./material/text.txt'), again = open('material/text.txt'), bytes = open('./material/text.txt', 'b');
export default function () { console.log(text === again, text.split('\n').length, text.length, bytes instanceof ArrayBuffer, bytes.byteLength); }
