import { WebSocket } from 'k6/websockets';
try { new WebSocket('ws://127.0.0.1:18091/echo'); } catch(e) { console.log(String(e), e.name); }
export default function(){}
