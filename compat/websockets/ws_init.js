import ws from 'k6/ws';
try { ws.connect('ws://127.0.0.1:18091/echo',()=>{}); } catch(e) { console.log(String(e), e.name); }
export default function(){}
