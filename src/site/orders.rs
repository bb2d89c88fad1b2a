//! What a person says on the spot: understood, taken in one step, and answered once it is on disk.

use tokio::sync::oneshot;

use super::control::Answer;
use super::report::{self, Before, Wanted};
use super::shell::Shell;
use crate::model::Event;

impl Shell {
    /// Takes an order of a person.
    pub(super) async fn order(&mut self, wanted: Wanted, who: String) -> Answer {
        if let Some(trouble) = &self.trouble {
            return Answer::Trouble(trouble.why.clone());
        }
        let orders = match report::understood(self.core.state(), &wanted) {
            Ok(orders) => orders,
            Err(why) => return Answer::Refused(why),
        };
        let before = Before::of(self.core.state(), &orders);
        let (mut events, mut asked) = (Vec::new(), Vec::new());
        for order in &orders {
            let (verdict, said) = oneshot::channel();
            events.push((Event::Order(order.clone(), who.clone()), Some(verdict)));
            asked.push(said);
        }
        if !events.is_empty() {
            self.take(events).await;
        }
        let verdicts: Result<Vec<_>, _> = asked.iter_mut().map(oneshot::Receiver::try_recv).collect();
        // without a verdict the commit failed
        let Ok(verdicts) = verdicts else { return Answer::Trouble("the order could not be saved".into()) };
        let now = self.clock.now().site;
        let answer = report::ordered(self.core.state(), now, &orders, &before, &who, &verdicts);
        serde_json::to_vec(&answer).map_or_else(|error| Answer::Trouble(error.to_string()), Answer::Json)
    }
}
