// row: grpc.load
import grpc from 'k6/net/grpc';
const lines = [];
const files = [[[], 'nowhere.proto'], [['nowhere'], 'shop.proto'], [[], 'broken.proto'], [[]], ['shop.proto'], [[], '/nowhere.proto']];
for (const words of files) {
  const client = new grpc.Client();
  try {
    lines.push(`${JSON.stringify(words)} ${JSON.stringify(client.load(...words))}`);
  } catch (error) {
    lines.push(`${JSON.stringify(words)} threw ${error.message.split('/').pop()}`);
  }
}
export default function () { lines.forEach((line) => console.log(line)); }
