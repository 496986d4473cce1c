//! A script as the engine's workload: VUs that are made before the run begins, or when an arrival finds none.
//!
//! Does not read options; callers pass in the function that each scenario calls.

use std::rc::Rc;
use std::sync::Arc;

use knee_engine::worker::{UserContext, UserId, Workload};

use crate::vu::Vu;
use knee_k6::http::send::RequestSender;

mod load;

mod store;

mod user;

pub use load::{Load, Part, Stop};
use store::{KeptVu, Store};
pub use user::ScriptUser;

impl Workload for Load {
    type User = ScriptUser;
    type Prepared = Rc<Store>;

    fn prepare(self: &Arc<Self>, vus: &[u32]) -> Rc<Store> {
        let store = Rc::new(Store::new(vus.last().copied()));
        for number in vus {
            if !make(self, &store, *number) {
                break;
            }
        }
        store
    }

    fn user(self: &Arc<Self>, context: &UserContext, store: &Rc<Store>, id: UserId) -> ScriptUser {
        let sender = store.sender.borrow_mut().get_or_insert_with(|| sender(self, context)).clone();
        if let Some(number) = id.vu.filter(|number| store.last.is_none_or(|last| *number > last)) {
            make(self, store, number);
        }
        ScriptUser::new(self, store, context, sender, id)
    }
}

/// Makes a VU; `false` if that failed, which ends the run.
fn make(load: &Load, store: &Store, number: u32) -> bool {
    match Vu::load(&load.program, &store.targets, u64::from(number) + 1) {
        Ok((vu, _)) => {
            load.tally.initialize();
            store.put(number, KeptVu::new(vu));
            true
        }
        Err(error) => {
            load.stop(error.into());
            false
        }
    }
}

fn sender(load: &Load, context: &UserContext) -> Rc<RequestSender> {
    Rc::new(RequestSender {
        network: context.network.clone(),
        recorder: context.recorder.clone(),
        endpoints: context.endpoints.clone(),
        timer: context.timer.clone(),
        observer: (load.observers)(),
        user_agent: load.http.user_agent.as_str().into(),
        pace: load.http.pace.clone(),
        ceiling: load.http.ceiling.clone(),
        secrets: load.program.surroundings.secrets.clone(),
    })
}
