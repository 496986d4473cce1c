// row: language
export default function () {
  console.log(new Date(0).toISOString(), JSON.stringify(new Date(86400000)), new Date('2024-02-30T00:00:00Z').toString() === 'Invalid Date', Date.UTC(2024, 1, 29));
  console.log((1234.5678).toFixed(2), (0.1 + 0.2).toString(), (255).toString(16), parseInt('12px'), parseFloat('1.5e3'), Number(''), 1 / 0, -0, 1e21, 123456789012345680000);
}
