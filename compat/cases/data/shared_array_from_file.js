// row: k6/data.SharedArray, globals.open
import { SharedArray } from 'k6/data';
const users = new SharedArray('users', () => JSON.parse(open('./material/users.json')).users);
export default function () { console.log(users.length, users[0].name, users[1].name); }
