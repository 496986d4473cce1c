import { WebSocket, Blob } from 'k6/websockets';
const B='ws://127.0.0.1:18091';
const T=(n,f)=>{try{console.log(n,f())}catch(e){console.log(n,'threw',String(e),e.name)}};
function run(path,n,act,proto,params){ return new Promise(done=>{ let s; try{ s=new WebSocket(B+path,proto,params) }catch(e){console.log(n,'threw',String(e),e.name); return done();}
  for(const ev of ['open','message','ping','pong','close','error']) s.addEventListener(ev,e=>{ console.log(n,ev,'keys='+Object.keys(e),'type='+e.type,'t='+(e.target===s), ev=='message'?(typeof e.data=='string'?e.data:(e.data instanceof ArrayBuffer?'AB':'blob '+e.data.size+' '+e.data.type))+' '+e.origin:'', ev=='close'?e.code+' '+JSON.stringify(e.reason):'', ev=='error'?e.error:'', 'rs='+s.readyState,'ba='+s.bufferedAmount); if(ev=='close') done(); });
  if(act) act(s); else setTimeout(()=>s.close(),150); }); }
export default async function(){
 for (const u of [undefined,null,'','http://x/','ws://127.0.0.1:18091/echo#f','ws://[::1','nosuch']) T('new '+u,()=>new WebSocket(u));
 T('opt',()=>new WebSocket(B+'/echo',null,{foo:1})); T('tags',()=>new WebSocket(B+'/echo',null,{tags:{a:{}}})); T('compr',()=>new WebSocket(B+'/echo',null,{compression:'gzip'})); T('compr2',()=>new WebSocket(B+'/echo',null,{compression:''}));
 await run('/echo','keys',s=>{ console.log(Object.keys(s).join(), JSON.stringify(Object.getOwnPropertyDescriptor(s,'send')), typeof s.onopen, s.url, s.readyState, s.bufferedAmount, JSON.stringify(s.extensions), JSON.stringify(s.protocol), s.binaryType, s instanceof WebSocket, Object.prototype.toString.call(s), String(s), WebSocket.name, WebSocket.length);
   T('send early',()=>s.send('x')); T('ping early',()=>s.ping()); T('bt',()=>{s.binaryType='foo'}); T('on bad',()=>{s.onopen=5}); T('add bad',()=>s.addEventListener('open')); T('add unk',()=>s.addEventListener('foo',()=>{})); T('badcode',()=>s.close(1001)); T('long',()=>s.close(1000,'x'.repeat(124)));
   s.onopen=()=>{ console.log('on first', JSON.stringify(s.extensions), JSON.stringify(s.protocol)); s.send('hi'); console.log('ba',s.bufferedAmount); T('send obj',()=>s.send({})); T('send num',()=>s.send(5)); T('arr',()=>s.send([1,2])); s.send(new Uint8Array([1,2,3]).buffer); s.send(new Uint8Array([1,2,3]).subarray(1)); s.send(new Uint16Array([258])); T('dv',()=>s.send(new DataView(new ArrayBuffer(2)))); s.send(new Blob(['ab',new Uint8Array([99])])); s.ping(); setTimeout(()=>{s.close(3000,'done'); T('twice',()=>s.close()); T('late',()=>s.send('x'))},100) }; });
 for (const p of ['/close1000','/close1001','/close1011','/close3001','/close1005','/close1004','/abrupt','/reset','/frag','/ping','/pong','/rsv2','/masked','/utf8','/bin','/half','/deflate','/wrongkey','/404','/garbage','/eof','/rst','/deflatebad'])  await run(p,p);
 await run('/proto','proto',s=>{s.onopen=()=>{console.log(s.protocol);s.close()}},['a','b']);
 await run('/proto','proto1',s=>{s.onopen=()=>{console.log(s.protocol);s.close()}},'b');
 await run('/deflate','defl',s=>{s.onopen=()=>{console.log(JSON.stringify(s.extensions));s.send('zzzzzzzzzzzzzzzz');setTimeout(()=>s.close(4000,'r'),50)}},null,{compression:'deflate',headers:{a:'b'},tags:{name:'nn',q:'1'}});
 await run('/echo','closeearly',s=>{s.close(); console.log(s.readyState)});
 console.log('--- blob');
 const b=new Blob(['abc',new Uint8Array([100,101]).buffer,new Uint16Array([258])],{type:'t'}); console.log(b.size,b.type,Object.keys(b).join(),await b.text(),String(b),Object.prototype.toString.call(b), b instanceof Blob);
 console.log(await b.slice(1,3).text(), await b.slice(1).text(), b.slice(0,2,'x').type, await b.slice(0,-2).text(), new Uint8Array(await b.arrayBuffer()).join(), (await b.bytes()).join(), new Blob().size);
 for (const a of [[5],['x',{}],'str',5,null,[undefined]]) T('blob '+JSON.stringify(a),()=>new Blob(a).size); T('opts',()=>new Blob([],5).type); T('slice oob',()=>b.slice(5,99).size); T('slice neg',()=>b.slice(-2).size);
 new WebSocket('ws://127.0.0.1:1/').onerror=e=>console.log('refused',e.error);
}
