// The request mixes of the trial: WORK names one. RATE is in arrivals per second; after six seconds, they are BURST per
// second for two seconds. VUS are users who pause for PAUSE seconds after each response; RAMP are users whose number
// grows from one to all. DURATION is the whole time. With FRESH, each request has a connection of its own.
import http from 'k6/http';
import { check, sleep } from 'k6';
import exec from 'k6/execution';

const base = __ENV.BASE_URL || 'http://127.0.0.1:3400';
const pause = Number(__ENV.PAUSE || 0);
const duration = __ENV.DURATION || '12s';

// With users for all who wait at the same time. Only a service that does not recover from the burst needs them.
function burst() {
  const [rate, many] = [Number(__ENV.RATE), Number(__ENV.BURST)];
  const stages = [
    { duration: '6s', target: rate },
    { duration: '0s', target: many },
    { duration: '2s', target: many },
    { duration: '0s', target: rate },
    { duration: `${parseInt(duration, 10) - 8}s`, target: rate },
  ];
  return { executor: 'ramping-arrival-rate', startRate: rate, stages, preAllocatedVUs: 1200, maxVUs: 1200 };
}

function scenario() {
  if (__ENV.BURST) {
    return burst();
  }
  if (__ENV.RATE) {
    const rate = Number(__ENV.RATE);
    return { executor: 'constant-arrival-rate', rate, duration, preAllocatedVUs: 50, maxVUs: 200 };
  }
  if (__ENV.RAMP) {
    const users = Number(__ENV.RAMP);
    const stages = [{ duration: '2s', target: 1 }, { duration: `${parseInt(duration, 10) - 2}s`, target: users }];
    return { executor: 'ramping-vus', startVUs: 1, stages, gracefulRampDown: '5s' };
  }
  return { executor: 'constant-vus', vus: Number(__ENV.VUS || 10), duration };
}

export const options = {
  scenarios: { shop: { ...scenario(), gracefulStop: '5s' } },
  ...(__ENV.FRESH ? { noConnectionReuse: true } : {}),
};

const any = (count) => Math.floor(Math.random() * count);
const asked = (path, name) => http.get(`${base}${path}`, { tags: { name: `GET ${name}` } });
const sent = (path, name) => http.post(`${base}${path}`, null, { tags: { name: `POST ${name}` } });
const put = (path, name) => http.put(`${base}${path}`, null, { tags: { name: `PUT ${name}` } });

// The front page, with the validator that the last response had.
let validator = null;
function front() {
  const headers = validator ? { 'If-None-Match': validator } : {};
  const response = http.get(`${base}/front`, { headers, tags: { name: 'GET /front' } });
  validator = response.headers.Etag || validator;
  return response;
}

// A page of the archive, from the first pages to the oldest ones.
function page(path) {
  const number = any(2500);
  return asked(`${path}?page=${number}&before=${60001 - number * 20}`, path);
}

// A number of a parcel, or the address of a customer.
function found() {
  const text = any(2) ? `P${String(1 + any(60000)).padStart(6, '0')}` : `customer${1 + any(2000)}@shop.test`;
  return asked(`/parcels?text=${text}`, '/parcels');
}

// Every tenth iteration closes the account. At a constant rate, closings do not meet.
function entry() {
  const path = exec.scenario.iterationInTest % 10 ? 'entries' : 'closing';
  return sent(`/accounts/1/${path}`, `/accounts/{id}/${path}`);
}

// One in ten is a purchase. At a constant rate, purchases do not meet.
function bestseller() {
  return exec.scenario.iterationInTest % 10 ? asked('/bestsellers', '/bestsellers') : sent('/purchases', '/purchases');
}

// A request of one of 50 clients, which a proxy sends on.
function offer() {
  const headers = { 'X-Forwarded-For': `10.0.0.${1 + any(50)}` };
  return http.get(`${base}/offers`, { headers, tags: { name: 'GET /offers' } });
}

// A request with name and password, as of a client without cookies.
function account() {
  const headers = { Authorization: `Basic member${1 + any(8)}:secret` };
  return http.get(`${base}/account`, { headers, tags: { name: 'GET /account' } });
}

// One in 80 begins a deployment, so that at 40 per second one begins every two seconds.
function till() {
  return exec.scenario.iterationInTest % 80 ? asked(`/tills/${1 + any(100)}`, '/tills/{id}') : sent('/deployments', '/deployments');
}

// A part of the start page. All users share two sessions, as where a page asks for all its parts at once.
function start() {
  const headers = { 'X-Session': `${exec.vu.idInTest % 2}` };
  return http.get(`${base}/start`, { headers, tags: { name: 'GET /start' } });
}

// A request with a token.
function mine() {
  const headers = { Authorization: 'Bearer 7' };
  return http.get(`${base}/tickets/mine`, { headers, tags: { name: 'GET /tickets/mine' } });
}

// One in 20 is a new todo; the others are summaries of order lines.
function amounts() {
  if (exec.scenario.iterationInTest % 20) {
    return asked(`/amounts?after=${any(175000)}`, '/amounts');
  }
  return sent(`/members/${1 + any(2000)}/todos`, '/members/{id}/todos');
}

// A member adds a todo and reads it at once. Then another one reads an old todo and a list.
function todos() {
  const [member, old] = [1 + any(2000), 1 + any(20000)];
  const other = `/members/${1 + (old % 2000)}/todos`;
  const id = sent(`/members/${member}/todos`, '/members/{id}/todos').json('id');
  const own = asked(`/members/${member}/todos/${id}`, '/members/{id}/todos/{todo}');
  asked(`${other}/${old}`, '/members/{id}/todos/{todo}');
  asked(other, '/members/{id}/todos');
  return own;
}

// One in 80 begins a backfill, so that at 40 per second one begins every two seconds.
function wallet() {
  return exec.scenario.iterationInTest % 80 ? sent(`/wallets/${1 + any(2000)}`, '/wallets/{id}') : sent('/backfills', '/backfills');
}

// One in 20 changes a sheet; the others read one.
function sheet() {
  const path = `/sheets/${any(8)}`;
  return exec.scenario.iterationInTest % 20 ? asked(path, '/sheets/{number}') : put(path, '/sheets/{number}');
}

// A visitor who begins to log in 20 times and ends none of these logins, as in tabs that are closed again. The next
// iteration is another visitor: k6 gives each one an empty jar of cookies.
function logins() {
  let response = asked('/login', '/login');
  for (let tab = 1; tab < 20; tab += 1) {
    sleep(0.05);
    response = asked('/login', '/login');
  }
  return response;
}

// A brochure, by a client that accepts brotli.
function brochure() {
  const headers = { 'Accept-Encoding': 'br' };
  return http.get(`${base}/brochures/${any(500)}`, { headers, tags: { name: 'GET /brochures/{number}' } });
}

// The page of scans behind any of them.
function scans() {
  const id = any(59000);
  return asked(`/scans?minute=${Math.floor(id / 4)}&id=${id}`, '/scans');
}

// One in 80 begins a release, so that at 40 per second one begins every two seconds.
function receipt() {
  return exec.scenario.iterationInTest % 80 ? sent('/receipts', '/receipts') : sent('/releases', '/releases');
}

// One in 240 begins to renew all favourites, so that at 60 per second they are renewed every four seconds.
function favourite() {
  if (exec.scenario.iterationInTest % 240) {
    return asked(`/favourites/${any(300000)}`, '/favourites/{number}');
  }
  return sent('/favourites', '/favourites');
}

// One in 20 is an export; the others are single places.
function atlas() {
  return exec.scenario.iterationInTest % 20 ? asked(`/atlas/${1 + any(2000)}`, '/atlas/{place}') : asked('/atlas', '/atlas');
}

// One in 80 begins to load all fares, so that at 40 per second they are loaded every two seconds.
function fare() {
  return exec.scenario.iterationInTest % 80 ? asked(`/fares/${1 + any(60000)}`, '/fares/{route}') : sent('/fares', '/fares');
}

// One in 160 begins to remove old returns, so that at 80 per second they are removed every two seconds.
function returned() {
  return exec.scenario.iterationInTest % 160 ? sent(`/returns/${1 + any(2000)}`, '/returns/{book}') : sent('/returns', '/returns');
}

// One in 160 begins to save all carts, so that at 80 per second they are saved every two seconds.
function cart() {
  return exec.scenario.iterationInTest % 160 ? put(`/carts/${any(1000000)}`, '/carts/{number}') : sent('/carts', '/carts');
}

// One in 100 begins a whole yearbook, so that at 50 per second one begins every two seconds.
function yearbook() {
  if (exec.scenario.iterationInTest % 100) {
    return asked(`/yearbooks/pages/${any(1000)}`, '/yearbooks/pages/{number}');
  }
  return sent(`/yearbooks/${1990 + any(30)}`, '/yearbooks/{year}');
}

// One in 30 redeems a code; the others read a session.
function code() {
  return exec.scenario.iterationInTest % 30 ? asked(`/sessions/${any(5000)}`, '/sessions/{user}') : sent(`/codes/${any(1e6)}`, '/codes/{code}');
}

// One in 100 begins to send the timetable, so that at 50 per second it is sent every two seconds. The next one changes a
// line, as one in ten does.
function timetable() {
  const number = exec.scenario.iterationInTest;
  if (number % 100 === 0) {
    return sent('/timetables', '/timetables');
  }
  const path = `/timetables/${any(1000)}`;
  return number % 10 === 1 ? put(path, '/timetables/{line}') : asked(path, '/timetables/{line}');
}

// A part of a recording, as a player asks for it.
function recording() {
  const first = any(384) * 16384;
  const headers = { Range: `bytes=${first}-${first + 16383}` };
  return http.get(`${base}/recordings/${any(1000)}`, { headers, tags: { name: 'GET /recordings/{number}' } });
}

// One in 100 begins appraisals, so that at 50 per second they begin every two seconds; the others ask for a sample.
function sample() {
  const number = exec.scenario.iterationInTest;
  return number % 100 ? asked(`/samples/${any(1000)}`, '/samples/{number}') : sent('/appraisals', '/appraisals');
}

// The almanac of one of four years, which is the same for all requests of a user, with the validator that it had.
const year = 2000 + any(4);
function almanac() {
  const headers = validator ? { 'If-None-Match': validator } : {};
  const response = http.get(`${base}/almanacs/${year}`, { headers, tags: { name: 'GET /almanacs/{year}' } });
  validator = response.headers.Etag || validator;
  return response;
}

// All users wait until the next even second, so that they arrive together.
function arrival() {
  sleep(2 - (Date.now() % 2000) / 1000);
  return asked(`/arrivals/${any(1000)}`, '/arrivals/{number}');
}

// An order, whose client gives up after 20 s.
function sale() {
  return http.post(`${base}/sales`, null, { timeout: '20s', tags: { name: 'POST /sales' } });
}

const works = {
  claim: () => sent('/jobs/claim', '/jobs/claim'),
  cases: () => asked('/cases/next', '/cases/next'),
  batch: () => sent('/jobs/batch', '/jobs/batch'),
  announce: () => sent('/jobs/announce', '/jobs/announce'),
  delivery: () => asked('/delivery', '/delivery'),
  stock: () => {
    put(`/stock/${1 + any(2000)}`, '/stock/{sku}');
    return asked('/stock', '/stock');
  },
  items: () => asked(`/stock/${1 + any(2000)}`, '/stock/{sku}'),
  sections: () => asked(`/sections/${any(200)}`, '/sections/{section}'),
  archive: () => page('/articles'),
  authors: () => page('/articles/authors'),
  views: () => sent(`/views/${any(500)}`, '/views/{article}'),
  events: () => sent(`/events/${any(500)}`, '/events/{article}'),
  words: () => asked(`/articles/search?text=word${any(12000)}`, '/articles/search'),
  front,
  options: () => asked(`/options/${any(200)}`, '/options/{tenant}'),
  top: () => asked('/top', '/top'),
  sessions: () => asked(`/sessions/${any(5000)}`, '/sessions/{user}'),
  prices: () => asked(`/prices/${any(10000)}`, '/prices/{from}'),
  catalog: () => asked(`/catalog/${any(100)}`, '/catalog/{page}'),
  names: () => asked(`/options/search?text=${any(0xfffff).toString(16)}`, '/options/search'),
  export: () => asked('/export', '/export'),
  thumbnails: () => asked(`/thumbnails/${any(6000)}`, '/thumbnails/{number}'),
  notes: () => asked(`/notes/${1 + any(60000)}`, '/notes/{id}'),
  texts: () => asked(`/notes/${1 + any(60000)}/text`, '/notes/{id}/text'),
  lists: () => http.del(`${base}/lists/${1 + exec.scenario.iterationInTest}`, null, { tags: { name: 'DELETE /lists/{id}' } }),
  documents: () => put(`/documents/${1 + any(500)}`, '/documents/{id}'),
  tickets: () => sent('/tickets', '/tickets'),
  reservations: () => sent('/reservations', '/reservations'),
  payments: () => sent(`/payments/${any(1e9)}`, '/payments/{order}'),
  orders: () => sent('/orders', '/orders'),
  checkouts: () => sent('/checkouts', '/checkouts'),
  deliveries: () => asked(`/customers/${1 + any(2000)}/parcels`, '/customers/{id}/parcels'),
  parcels: () => asked(`/parcels/${1 + any(60000)}`, '/parcels/{id}'),
  finder: found,
  routes: () => asked(`/routes/${any(20)}`, '/routes/{route}'),
  entries: entry,
  mails: () => sent('/mails', '/mails'),
  reports: () => asked(`/reports?after=${any(180)}`, '/reports'),
  placements: () => sent(`/shelves/${1 + any(2000)}`, '/shelves/{id}'),
  levels: () => asked(`/levels/${any(20000)}`, '/levels/{item}'),
  totals: () => asked('/prices', '/prices'),
  quotes: () => (any(6) ? asked(`/sessions/${any(5000)}`, '/sessions/{user}') : sent('/quotes', '/quotes')),
  visits: () => sent(`/visits/${any(500)}`, '/visits/{article}'),
  rates: () => asked('/rates', '/rates'),
  readers: () => asked(`/notes/${1 + any(60000)}`, '/notes/{id}'),
  overview: () => asked('/overview', '/overview'),
  feed: () => {
    sent('/feed', '/feed');
    return asked('/feed', '/feed');
  },
  signins: () => asked(`/signin?text=Member${1 + any(60000)}@Shop.test`, '/signin'),
  mailboxes: () => asked(`/mailboxes/${any(8)}`, '/mailboxes/{id}'),
  profiles: () => asked(`/members/${1 + any(60000)}`, '/members/{id}'),
  invoices: () => asked(`/invoices/${1 + any(500)}`, '/invoices/{id}'),
  baskets: () => sent('/baskets', '/baskets'),
  bestsellers: bestseller,
  shipping: () => asked(`/parcels/${1 + any(60000)}/shipping`, '/parcels/{id}/shipping'),
  points: () => sent('/points', '/points'),
  tariffs: () => asked('/tariffs', '/tariffs'),
  ratings: () => asked('/ratings', '/ratings'),
  offers: offer,
  account,
  pages: () => asked(`/pages/${any(1000)}`, '/pages/{id}'),
  goods: () => asked(`/goods?text=maker${any(4000)}`, '/goods'),
  categories: () => asked(`/categories/${112 + any(1000)}`, '/categories/{id}'),
  audit: () => sent('/audit', '/audit'),
  imports: () => sent('/imports', '/imports'),
  tills: till,
  cards: () => sent(`/cards/${any(1e9)}`, '/cards/{member}'),
  vouchers: () => asked(`/vouchers/${1 + any(4000)}`, '/vouchers/{code}'),
  tasks: () => put(`/tasks/${any(300000)}`, '/tasks/{number}'),
  leaflets: () => put(`/leaflets/${any(200)}`, '/leaflets/{id}'),
  campaigns: () => asked(`/campaigns/${any(5)}?mail=${any(1e9)}`, '/campaigns/{id}'),
  bookings: () => sent(`/bookings/${any(365)}`, '/bookings/{day}'),
  start,
  mine,
  comments: () => asked('/comments', '/comments'),
  letters: () => asked(`/members/${1 + any(2000)}/letters`, '/members/{id}/letters'),
  mailings: () => asked(`/letters/${any(1000)}`, '/letters/{page}'),
  draws: () => asked('/draws', '/draws'),
  bills: () => sent(`/bills/${1 + any(2000)}`, '/bills/{member}'),
  wallets: wallet,
  sheets: sheet,
  alerts: () => asked('/alerts', '/alerts'),
  ranks: () => sent(`/ranks/${1 + any(20000)}`, '/ranks/{member}'),
  preferences: () => put(`/preferences/${any(16000)}`, '/preferences/{member}'),
  wishes: () => asked(`/wishes/${1 + any(2000)}`, '/wishes/{member}'),
  logins,
  brochures: brochure,
  places: () => asked(`/places/${any(60000)}`, '/places/{parcel}'),
  couriers: () => asked('/couriers', '/couriers'),
  scans,
  refunds: () => asked('/refunds', '/refunds'),
  readings: () => asked('/readings', '/readings'),
  receipts: receipt,
  supplies: () => sent(`/supplies/${any(25)}`, '/supplies/{supplier}'),
  exchanges: () => sent(`/exchanges/${1 + any(2000)}`, '/exchanges/{member}'),
  favourites: favourite,
  atlas,
  opinions: () => asked(`/opinions/${any(1000)}`, '/opinions/{product}'),
  insurances: () => asked(`/insurances/${any(1000)}`, '/insurances/{product}'),
  exhibits: () => asked(`/exhibits/${any(60)}`, '/exhibits/{number}'),
  signups: () => sent(`/signups/${any(1e9)}`, '/signups/{member}'),
  deals: () => asked('/deals', '/deals'),
  ledgers: () => asked(`/ledgers/${any(1000)}`, '/ledgers/{account}'),
  trips: () => asked(`/drivers/${any(1000)}/trips`, '/drivers/{driver}/trips'),
  fares: fare,
  picks: () => asked(`/picks/${any(20000)}`, '/picks/{first}'),
  surveys: () => put(`/surveys/${1 + any(100)}`, '/surveys/{id}'),
  boards: () => asked(`/boards/${any(100)}`, '/boards/{first}'),
  timelines: () => asked(`/timelines/${any(5)}`, '/timelines/{member}'),
  loans: () => asked(`/loans/${1 + any(1990)}`, '/loans/{first}'),
  returns: returned,
  kits: () => asked(`/kits/${any(1000)}`, '/kits/{kit}'),
  stations: () => asked(`/stations/${any(1000)}`, '/stations/{number}'),
  labels: () => sent(`/labels/${any(1e6)}`, '/labels/{number}'),
  carts: cart,
  yearbooks: yearbook,
  reviews: () => asked(`/reviews/${any(1000)}`, '/reviews/{product}'),
  notices: () => asked(`/tenants/${any(4)}/notices`, '/tenants/{tenant}/notices'),
  takings: () => asked(`/branches/${any(6)}/takings`, '/branches/{branch}/takings'),
  playlists: () => put(`/playlists/${any(1500)}`, '/playlists/{playlist}'),
  complaints: () => asked(`/branches/${any(1000)}/complaints`, '/branches/{branch}/complaints'),
  tallies: () => sent(`/tallies/${any(5000)}`, '/tallies/{first}'),
  codes: code,
  albums: () => http.del(`${base}/albums/${1 + exec.scenario.iterationInTest}`, null, { tags: { name: 'DELETE /albums/{album}' } }),
  stocktakings: () => sent(`/stocktakings/${any(1000)}`, '/stocktakings/{shelf}'),
  quotas: () => asked(`/quotas/${any(1000)}`, '/quotas/{member}'),
  contacts: () => asked(`/contacts/${any(1000)}`, '/contacts/{member}'),
  phrases: () => asked(`/phrases/${any(25000)}`, '/phrases/{number}'),
  timetables: timetable,
  hints: () => asked(`/hints/${any(1e6)}`, '/hints/{word}'),
  recordings: recording,
  registers: () => asked(`/registers/${any(60)}`, '/registers/{book}'),
  permits: () => sent(`/permits/${1 + any(500)}`, '/permits/{district}'),
  recipes: () => asked(`/recipes/tag${any(1000)}`, '/recipes/{tag}'),
  passbooks: () => asked(`/passbooks/${any(200)}`, '/passbooks/{account}'),
  polls: () => asked(`/polls/${any(6)}`, '/polls/{poll}'),
  noticeboards: () => asked(`/tenants/${any(4)}/board`, '/tenants/{tenant}/board'),
  currencies: () => asked(`/currencies/${any(20)}`, '/currencies/{number}'),
  vendors: () => asked(`/vendors/${any(1000)}`, '/vendors/{number}'),
  samples: sample,
  checks: () => asked(`/checks/${any(1000)}`, '/checks/{number}'),
  almanacs: almanac,
  enquiries: () => sent(`/enquiries/${any(1e9)}`, '/enquiries/{number}'),
  streets: () => asked(`/streets/${any(4096)}`, '/streets/{beginning}'),
  arrivals: arrival,
  amounts,
  todos,
  sale,
};

const work = works[__ENV.WORK || 'notes'];

export default function () {
  const response = work();
  check(response, { good: (response) => response.status >= 200 && response.status < 400 });
  if (pause > 0) {
    sleep(pause);
  }
}
