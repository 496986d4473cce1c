// row: globals.open
let said = 'none';
try { open('./material/nowhere.txt'); } catch (e) { said = 'caught'; }
try { open(''); } catch (e) { said += ' empty'; }
export default function () { console.log(said); }
