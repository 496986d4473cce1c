import ws from 'k6/ws'; import { check } from 'k6';
export const options={vus:1,iterations:1};
const B='ws://127.0.0.1:18091';
function t(name, f){ try{ const r=f(); console.log(name,'=>',JSON.stringify(r)); }catch(e){ console.log(name,'threw',String(e), e.name, typeof e);} }
function watch(s,n){ for(const ev of ['open','message','binaryMessage','ping','pong','close','error']) s.on(ev,(...a)=>console.log(n,ev,a.length, a.map(x=> x instanceof ArrayBuffer?'AB'+new Uint8Array(x).join(): (x&&x.error? 'E:'+x.error()+' code='+x.code+' json='+JSON.stringify(x)+' str='+x+' keys='+Object.keys(x)+' text='+x.text: typeof x+':'+x)).join('|'))); }
export default function(){
 for(const p of ['/close1000','/close1001','/close1011','/close3001','/close1005','/close1004','/abrupt','/reset','/frag','/ping','/pong','/rsv2','/rsv1','/opcode','/masked','/utf8','/bin','/longctl','/cont','/half','/deflate','/wrongkey','/404','/big404','/200','/garbage','/eof','/rst','/proto','/deflatebad'])
  t(p,()=>ws.connect(B+p,{},s=>{watch(s,p); s.setTimeout(()=>s.close(),150)}));
 t('refused',()=>ws.connect('ws://127.0.0.1:1/',s=>{console.log('never')}));
 t('http',()=>ws.connect('http://127.0.0.1:18091/echo',s=>{}));
 t('user',()=>ws.connect('ws://u:p@127.0.0.1:18091/echo',s=>{}));
 t('badurl',()=>ws.connect('ws://127.0.0.1:99999/echo',s=>{}));
 t('badurl2',()=>ws.connect('ws://[::1/echo',s=>{}));
 t('empty',()=>ws.connect('',s=>{}));
 t('nohost',()=>ws.connect('nosuch.invalid/x',s=>{}));
 t('nodns',()=>ws.connect('ws://nosuch.invalid/x',s=>{}));
 t('noargs',()=>ws.connect(B+'/echo'));
 t('notfn',()=>ws.connect(B+'/echo',{},3));
 t('three',()=>ws.connect(B+'/echo',{},()=>{},3));
 t('dup',()=>ws.connect(B+'/echo',{headers:{'Upgrade':'x'}},()=>{}));
 t('compr',()=>ws.connect(B+'/echo',{compression:'gzip'},()=>{}));
 t('tags',()=>ws.connect(B+'/echo',{tags:{a:{}}},()=>{}));
 t('fnthrows',()=>ws.connect(B+'/echo',()=>{throw new Error('in fn')}));
 t('timeoutthrows',()=>ws.connect(B+'/echo',s=>{watch(s,'tt'); s.setTimeout(()=>{throw new Error('in timer')},10)}));
 t('handlerthrows',()=>ws.connect(B+'/echo',s=>{s.on('message',()=>{throw new Error('in handler')}); s.on('open',()=>s.send('x')); s.on('close',c=>console.log('close',c));}));
 t('openthrows',()=>ws.connect(B+'/echo',s=>{s.on('open',()=>{throw new TypeError('in open')}); s.on('close',c=>console.log('close',c));}));
 t('badtimers',()=>ws.connect(B+'/echo',s=>{ for(const f of [()=>s.setTimeout(()=>{},0),()=>s.setInterval(()=>{},-1.5),()=>s.setTimeout(3,5),()=>s.setTimeout(),()=>s.sendBinary('x'),()=>s.sendBinary(),()=>s.sendBinary(null),()=>s.sendBinary(new Uint8Array(2)),()=>s.send(),()=>s.send({a:1}),()=>s.send(5),()=>s.on('x'),()=>s.on('message',5),()=>s.close('abc'),()=>s.send('late'),()=>s.ping()]) { try{ console.log('ret',f()) }catch(e){console.log('thrown',String(e),e.name)} } watch(s,'bt'); try { s.send('again'); s.close(); }catch(e){console.log(e)} }));
 t('closecode',()=>ws.connect(B+'/echo',s=>{watch(s,'cc'); s.on('open',()=>{s.close(4001); s.send('after'); s.ping();})}));
 t('order',()=>ws.connect(B+'/ping',s=>{watch(s,'o');console.log(Object.keys(s).join(), typeof s.on, JSON.stringify(s)); s.on('open',()=>{s.ping();s.ping();s.send('a');s.sendBinary(new Uint8Array([1,2]).buffer)}); let n=0; s.setInterval(()=>{console.log('i',++n); if(n==3) s.close(1000)},30); s.setTimeout(()=>console.log('t'),10);}));
 t('big',()=>ws.connect(B+'/echo',s=>{s.on('open',()=>s.send('x'.repeat(10000))); s.on('message',m=>{console.log(m.length);s.close()})}));
 t('deflate',()=>ws.connect(B+'/deflate',{compression:'deflate',headers:{'x-a':'b',Cookie:'q=1',Host:'other','Sec-WebSocket-Protocol':'p1, p2'}},s=>{watch(s,'d');s.on('open',()=>{s.send('hello hello hello hello');s.send('');}); s.setTimeout(()=>s.close(),100)}));
 t('cookie',()=>{ws.connect(B+'/cookie',s=>s.close()); return ws.connect(B+'/echo',s=>s.close())});
 t('nested',()=>ws.connect(B+'/echo',s=>{watch(s,'outer'); s.on('open',()=>{s.send('1'); console.log('inner',JSON.stringify(ws.connect(B+'/echo',q=>{watch(q,'inner');q.on('open',()=>q.send('2'));q.setTimeout(()=>q.close(),30)})));}); s.setTimeout(()=>s.close(),100)}));
 t('promises',()=>{ setTimeout(()=>console.log('global timer'),1); Promise.resolve().then(()=>console.log('micro')); const r=ws.connect(B+'/echo',s=>{Promise.resolve().then(()=>console.log('micro2'));s.setTimeout(()=>s.close(),50)}); console.log('after'); return r; });
}
export function teardown(){ const r=ws.connect(B+'/echo',s=>s.close()); console.log('teardown',r.status); }
