//! Figures that can be repeated: each is a ratio of two measurements in the same run on the same machine.
//! `cargo run --release -p hearth-tests --bin bench`
#![expect(clippy::print_stdout, reason = "a bench's answer is what it prints")]

use std::time::{Duration, Instant};

use clap::Parser;
use hearth_tests::server::Server;
use hearth_tests::wire::Wire;
use serde_json::{Value, json};

/// Measures the service in this process over loopback.
#[derive(Parser)]
struct Args {
    /// Seconds for each figure
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Runs of each figure; the median is compared
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Records to list through
    #[arg(long, default_value_t = 100_000)]
    records: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Connections that write at once, beside the one that writes alone.
const MANY: usize = 64;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let time = Duration::from_secs_f64(args.seconds);
    let mut figures = Vec::new();

    let server = Server::start().await;
    let mut rates = [Vec::new(), Vec::new()];
    for _ in 0..args.runs {
        rates[0].push(create_rate(&server, 1, time).await?);
        rates[1].push(create_rate(&server, MANY, time).await?);
    }
    let [alone, together] = rates.map(Spread::of);
    figures.push(figure(
        "durable creates, 64 connections over 1",
        together.median / alone.median,
        10.0,
        &[alone, together],
    ));
    server.stop().await;

    let server = Server::start().await;
    fill(&server, args.records).await?;
    let deep = cursor_at(&server, args.records * 4 / 5).await?;
    let mut rates = [Vec::new(), Vec::new()];
    for _ in 0..args.runs {
        rates[0].push(page_rate(&server, None, time).await?);
        rates[1].push(page_rate(&server, Some(&deep), time).await?);
    }
    let [first, far] = rates.map(Spread::of);
    figures.push(figure(
        "list pages of 50, at 80 % depth over the first",
        far.median / first.median,
        0.95,
        &[first, far],
    ));
    server.stop().await;

    if args.json {
        println!("{}", Value::Array(figures));
    } else {
        for figure in figures {
            let ratio = figure["ratio"].as_f64().unwrap_or_default();
            println!(
                "{:50} {ratio:6.2}  (target {})  {}",
                figure["name"].as_str().unwrap_or_default(),
                figure["target"],
                figure["rates"]
            );
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct Spread {
    min: f64,
    median: f64,
    max: f64,
}

impl Spread {
    fn of(mut rates: Vec<f64>) -> Spread {
        rates.sort_by(f64::total_cmp);
        Spread { min: rates[0], median: rates[rates.len() / 2], max: rates[rates.len() - 1] }
    }
}

fn figure(name: &str, ratio: f64, target: f64, spreads: &[Spread]) -> Value {
    let rates: Vec<Value> = spreads
        .iter()
        .map(|s| json!({ "min": s.min.round(), "median": s.median.round(), "max": s.max.round() }))
        .collect();
    json!({ "name": name, "ratio": ratio, "target": target, "rates": rates })
}

fn head(server: &Server, method: &str, target: &str) -> String {
    let host = server.running.address;
    format!("{method} {target} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {}\r\n", server.live_key)
}

fn post(server: &Server, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    let head = head(server, "POST", "/v1/tasks");
    format!("{head}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn task(number: usize) -> Value {
    json!({ "title": format!("Check the {number}th thing in the house"), "priority": "low", "notes": "x".repeat(80) })
}

/// Creates for each second that so many connections reach together.
async fn create_rate(server: &Server, connections: usize, time: Duration) -> anyhow::Result<f64> {
    let address = server.running.address.to_string();
    let request = post(server, &task(0));
    let began = Instant::now();
    let mut workers = Vec::new();
    for _ in 0..connections {
        let (address, request) = (address.clone(), request.clone());
        workers.push(tokio::spawn(async move {
            let mut wire = Wire::connect(&address).await?;
            let mut count = 0u32;
            while began.elapsed() < time {
                let answer = wire.ask(&request).await?;
                anyhow::ensure!(answer.status == 201, "status {}", answer.status);
                count += 1;
            }
            Ok(count)
        }));
    }
    let mut count = 0;
    for worker in workers {
        count += worker.await??;
    }
    Ok(f64::from(count) / began.elapsed().as_secs_f64())
}

async fn fill(server: &Server, records: usize) -> anyhow::Result<()> {
    let address = server.running.address.to_string();
    let mut workers = Vec::new();
    for worker in 0..MANY {
        let requests: Vec<Vec<u8>> =
            (worker..records).step_by(MANY).map(|number| post(server, &task(number))).collect();
        let address = address.clone();
        workers.push(tokio::spawn(async move {
            let mut wire = Wire::connect(&address).await?;
            for request in requests {
                wire.ask(&request).await?;
            }
            anyhow::Ok(())
        }));
    }
    for worker in workers {
        worker.await??;
    }
    Ok(())
}

/// The cursor of the page that begins so many records into the list.
async fn cursor_at(server: &Server, depth: usize) -> anyhow::Result<String> {
    let mut wire = Wire::connect(&server.running.address.to_string()).await?;
    let mut cursor = String::new();
    for _ in 0..depth / 100 {
        let and = if cursor.is_empty() { String::new() } else { format!("&cursor={cursor}") };
        let request = format!("{}\r\n", head(server, "GET", &format!("/v1/tasks?limit=100{and}")));
        let answer = wire.ask(request.as_bytes()).await?;
        let page: Value = serde_json::from_slice(wire.body(answer))?;
        cursor = page["meta"]["page"]["next_cursor"].as_str().unwrap_or_default().to_owned();
    }
    Ok(cursor)
}

/// Pages for each second over one connection.
async fn page_rate(server: &Server, cursor: Option<&str>, time: Duration) -> anyhow::Result<f64> {
    let and = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
    let request = format!("{}\r\n", head(server, "GET", &format!("/v1/tasks?limit=50{and}")));
    let mut wire = Wire::connect(&server.running.address.to_string()).await?;
    let began = Instant::now();
    let mut count = 0u32;
    while began.elapsed() < time {
        let answer = wire.ask(request.as_bytes()).await?;
        anyhow::ensure!(answer.status == 200, "status {}", answer.status);
        count += 1;
    }
    Ok(f64::from(count) / began.elapsed().as_secs_f64())
}
