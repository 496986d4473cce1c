// row: thresholds.filters
import { Counter } from 'k6/metrics';
const count = new Counter('my_count');
export const options = { thresholds: { 'my_count{ a : b }': ['count==1'], 'my_count{a:"quoted"}': ['count==1'], "my_count{a:'single'}": ['count==1'], 'my_count{url:http://x/?q=1}': ['count==1'] } };
export default function () { count.add(1, { a: 'b' }); count.add(1, { a: 'quoted' }); count.add(1, { a: 'single' }); count.add(1, { url: 'http://x/?q=1' }); }
