//! Requests for the visible data: pages, sums, the home screen, the topmost layer. Must not know how a request is
//! answered.

use hearth_contract::formats::format_date;
use hearth_contract::schema::Kind;

use super::model::{App, Layer};
use crate::message::Effect;
use crate::state::home::Home;
use crate::state::list::List;

impl App {
    /// Asks for the visible page of the list.
    pub(crate) fn ask_page(&mut self) -> Vec<Effect> {
        let ticket = self.ticket();
        let ask = |list: &mut List| {
            list.ticket = ticket;
            Effect::Page(ticket, list.page_query())
        };
        self.list_mut().map(ask).into_iter().collect()
    }

    /// Asks for the visible page and the sums of the list: order or filter may have changed.
    pub(crate) fn ask_list(&mut self) -> Vec<Effect> {
        let mut effects = self.ask_page();
        let today = self.today;
        let ask = |list: &mut List| {
            list.sums = list.ticket;
            Effect::Totals(list.sums, list.whole_query(), today)
        };
        effects.extend(self.list_mut().map(ask));
        effects
    }

    /// Asks for the visible data again.
    pub(crate) fn reload(&mut self) -> Vec<Effect> {
        let ticket = self.ticket();
        let mut effects = match self.layers.last_mut() {
            Some(Layer::Detail(detail)) => {
                detail.ticket = ticket;
                vec![Effect::Record(ticket, detail.kind, detail.id.clone())]
            }
            Some(Layer::Search(search)) => {
                search.ticket = ticket;
                vec![Effect::Search(ticket, search.words.text().to_owned())]
            }
            Some(Layer::Edits(_)) => vec![Effect::Edits],
            Some(Layer::Conflict(_)) => vec![Effect::Conflicts],
            Some(Layer::Inbox(_)) => vec![Effect::Captures],
            Some(Layer::Sync(_)) => vec![Effect::Log],
            None if self.tab == Kind::Property => self.ask_home(),
            Some(Layer::Form(_) | Layer::Quick(_) | Layer::Confirm(_) | Layer::Palette(_))
            | Some(Layer::Results(_) | Layer::Columns(_) | Layer::Attach(_) | Layer::Import(_))
            | None => {
                if self.tab == Kind::Property {
                    self.ask_home()
                } else {
                    self.ask_list()
                }
            }
        };
        effects.extend([Effect::Status, Effect::Counts]);
        effects
    }

    /// Asks for the data of the home screen.
    pub(crate) fn ask_home(&mut self) -> Vec<Effect> {
        self.home.ticket = self.ticket();
        let days = self.home.days(self.today);
        vec![Effect::Overview(self.home.ticket, days), Effect::Figures(format_date(Home::activity_start(self.today)))]
    }
}
