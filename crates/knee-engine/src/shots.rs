//! What the one-liner sends: a set of prepared requests, one of which is a whole iteration.
//!
//! Does not know when a request is due (see [`crate::executor`]) nor how it travels (see
//! [`crate::http`]).

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use knee_core::outcome::Fault;
use knee_core::plan::EndpointId;
use knee_core::unit::Nanos;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use url::Url;

use crate::executor::{Turn, User};
use crate::http::client::{Client, Errand, Fetched, Follow};
use crate::http::decode::Decoder;
use crate::http::origin::Origin;
use crate::http::request::{Defaults, Prepared, prepare};
use crate::http::response::{Head, Sink};
use crate::http::settings::Settings;
use crate::recorder::{Finish, FlightId, Recorder};
use crate::worker::{Post, Workload};

/// One kind of request.
#[derive(Clone, Debug)]
pub struct Shot {
    /// Method, in upper case by convention; any token.
    pub method: String,
    /// Where it goes; `http` or `https`, with a host. User and password in it are sent as basic
    /// authentication unless `headers` has an `authorization`.
    pub url: Url,
    /// Headers as given. They replace the ones that would be sent by default (`host`,
    /// `user-agent`, `accept`, `accept-encoding`, `content-length`) by name, ignoring case.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body.
    pub body: ShotBody,
    /// How often it is chosen relative to the others; above zero.
    pub weight: f64,
    /// Where it is counted.
    pub endpoint: EndpointId,
}

/// The body of a [`Shot`].
#[derive(Clone, Debug)]
pub enum ShotBody {
    /// None, and no `content-length` unless the method usually has a body.
    Empty,
    /// The same every time.
    Fixed(Vec<u8>),
    /// One of these, at random; not empty.
    Choice(Vec<Vec<u8>>),
}

/// A set of shots, ready to be sent by any number of users.
pub struct Volley {
    shots: Vec<Loaded>,
    /// Sums of weights up to and including each shot.
    weights: Vec<f64>,
    hosts: Vec<String>,
    seed: u64,
    /// Whether a user that cannot connect rests before it tries again; arrivals of an open plan
    /// are owed at their time whatever happened before.
    rests: bool,
}

struct Loaded {
    shot: Shot,
    origin: Arc<Origin>,
    forms: Vec<Prepared>,
}

impl Volley {
    /// Prepares `shots`. `seed` decides who sends which shot and body. In a closed plan
    /// (`rests`), users that cannot connect wait a little longer each time, 100 ms at the most.
    /// Redirects are followed to the hosts of the shots and to those in `also`.
    /// `None` if there is no shot, or one with a URL that is not http or https.
    pub fn load(
        shots: Vec<Shot>,
        defaults: &Defaults,
        seed: u64,
        rests: bool,
        also: &[String],
    ) -> Option<Self> {
        let mut sum = 0.0;
        let mut weights = Vec::with_capacity(shots.len());
        let mut loaded = Vec::with_capacity(shots.len());
        let mut hosts = also.to_vec();
        for shot in shots {
            sum += shot.weight;
            weights.push(sum);
            let origin = Arc::new(Origin::of(&shot.url)?);
            if !hosts.contains(&origin.host) {
                hosts.push(origin.host.clone());
            }
            let forms = prepare(&shot, defaults);
            loaded.push(Loaded { shot, origin, forms });
        }
        (!loaded.is_empty()).then_some(Self { shots: loaded, weights, hosts, seed, rests })
    }

    /// Every origin that is asked.
    pub fn origins(&self) -> impl Iterator<Item = &Origin> {
        self.shots.iter().map(|loaded| &*loaded.origin)
    }

    fn choose(&self, random: &mut SmallRng) -> &Loaded {
        let Some(sum) = self.weights.last().filter(|_| self.shots.len() > 1) else {
            return &self.shots[0]; // `load` refuses to make an empty volley
        };
        let point = random.random::<f64>() * sum;
        let place = self.weights.partition_point(|weight| *weight <= point);
        &self.shots[place.min(self.shots.len() - 1)]
    }
}

impl Workload for Volley {
    type User = Gunner;

    fn user(self: &Arc<Self>, post: &Post, number: u64) -> Gunner {
        Gunner {
            volley: self.clone(),
            client: Client::new(post.network.clone()),
            recorder: post.recorder.clone(),
            random: SmallRng::seed_from_u64(self.seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15)),
            failures: 0,
        }
    }
}

/// A user that sends one shot a turn.
pub struct Gunner {
    volley: Arc<Volley>,
    client: Client,
    recorder: Rc<RefCell<Recorder>>,
    random: SmallRng,
    /// Failures to connect in a row.
    failures: u32,
}

impl User for Gunner {
    async fn iterate(&mut self, turn: Turn) -> Nanos {
        let volley = self.volley.clone();
        let loaded = volley.choose(&mut self.random);
        let form = match loaded.forms.len() {
            1 => 0,
            several => self.random.random_range(0..several),
        };
        let flight = self.recorder.borrow_mut().begin(loaded.shot.endpoint, turn.due, turn.earliest);
        let errand = Errand {
            origin: &loaded.origin,
            prepared: &loaded.forms[form],
            follow: Some(loaded.follow(form, &volley.hosts)),
        };
        let mut sink = Verifier::new(self.client.settings());
        let recorder = &self.recorder;
        let fetched = self.client.fetch(errand, &mut sink, |at| recorder.borrow_mut().sent(flight, at)).await;
        self.record(flight, &fetched, &sink);
        if fetched.failed_to_connect() {
            return self.rest(fetched.done).await;
        }
        self.failures = 0;
        fetched.done
    }

    fn give_up(&mut self, due: Nanos, at: Nanos) {
        let endpoint = self.volley.choose(&mut self.random).shot.endpoint;
        self.recorder.borrow_mut().unsent(endpoint, due, at);
    }
}

impl Gunner {
    fn record(&self, flight: FlightId, fetched: &Fetched, sink: &Verifier) {
        let fault = fetched.result.as_ref().err();
        let finish = Finish {
            outcome: fetched.outcome(),
            done: fetched.done,
            status: fetched.result.as_ref().ok().copied(),
            fault: fault.map(|failure| (failure.fault, failure.message.as_deref())),
            marks: fetched.marks,
            counts: fetched.counts,
            body: fetched.result.is_ok().then(|| sink.body()),
        };
        self.recorder.borrow_mut().finish(flight, &finish);
    }

    /// After a connection that could not be had: lets others act, and in a closed plan waits
    /// 1 ms, then twice as long each time up to 100 ms, so that a server that refuses is not
    /// hammered as fast as the kernel can say no. Returns when the user is free again.
    async fn rest(&mut self, done: Nanos) -> Nanos {
        tokio::task::yield_now().await;
        if !self.volley.rests {
            return done;
        }
        let span = Nanos::from_millis(1 << self.failures.min(6)).min(Nanos::from_millis(100));
        self.failures += 1;
        self.client.pause(span).await
    }
}

impl Loaded {
    /// What following a redirect needs.
    fn follow<'a>(&'a self, form: usize, hosts: &'a [String]) -> Follow<'a> {
        let body = match &self.shot.body {
            ShotBody::Empty => None,
            ShotBody::Fixed(body) => Some(body.as_slice()),
            ShotBody::Choice(bodies) => bodies.get(form).map(Vec::as_slice),
        };
        let Shot { method, url, headers, .. } = &self.shot;
        Follow { method, url, headers, body, hosts }
    }
}

/// Checks an answer as far as one can without knowing what it should say: its body decodes, and
/// its checksum tells it from others.
struct Verifier {
    checksum: crc32fast::Hasher,
    length: u64,
    decode: bool,
    decoded_max: u64,
    decoder: Option<Decoder>,
}

impl Verifier {
    fn new(settings: &Settings) -> Self {
        Self {
            checksum: crc32fast::Hasher::new(),
            length: 0,
            decode: settings.decode,
            decoded_max: settings.decoded_max,
            decoder: None,
        }
    }

    fn body(&self) -> (u32, u64) {
        (self.checksum.clone().finalize(), self.length)
    }
}

impl Sink for Verifier {
    fn head(&mut self, head: &Head<'_>) -> Result<(), Fault> {
        // A redirect's answer may have been read before.
        (self.checksum, self.length, self.decoder) = (crc32fast::Hasher::new(), 0, None);
        if self.decode {
            let encoding = head
                .headers
                .iter()
                .find(|line| line.name.len() == 16 && line.name.eq_ignore_ascii_case("content-encoding"));
            self.decoder = encoding.and_then(|line| Decoder::new(line.value, self.decoded_max));
        }
        Ok(())
    }

    fn body(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.checksum.update(bytes);
        self.length += bytes.len() as u64;
        self.decoder.as_mut().map_or(Ok(()), |decoder| decoder.feed(bytes))
    }

    fn end(&mut self) -> Result<(), Fault> {
        // Answers to HEAD and 304 name an encoding and have no body.
        self.decoder.take().filter(|_| self.length > 0).map_or(Ok(()), Decoder::finish)
    }
}
