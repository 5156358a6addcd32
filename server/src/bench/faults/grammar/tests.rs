//! Plans that parse, and the errors of plans that do not.

use super::*;

#[test]
fn plan_parses_faults_and_schedules() {
    let plan = parse("lost-answer=5% route=createTask; cut=every:100frames; 503=burst:3/60s; seed=7").unwrap();
    let faults: Vec<_> = plan.rules.iter().map(|rule| (rule.fault.clone(), rule.when)).collect();
    let burst = When::Burst { count: 3, within: Duration::from_secs(60) };
    let expected = [
        (FaultKind::LostAnswer, When::Chance(0.05)),
        (FaultKind::Cut, When::Every(100)),
        (FaultKind::Status { status: 503, retry_after: 1 }, burst),
    ];
    assert_eq!((plan.seed, faults), (7, expected.to_vec()));
    assert_eq!(plan.rules[0].routes, [RouteSet::Operation("create_task")]);

    let file = "\u{feff}# slow\nlatency=always by=10ms-2s key=phone,laptop route=writes,streams\nmute=once:3 for=30s comments=pass # and mute\n";
    let plan = parse(file).unwrap();
    let (from, to) = (Duration::from_millis(10), Duration::from_secs(2));
    assert_eq!(plan.rules[0].fault, FaultKind::Latency { from, to });
    assert_eq!(plan.rules[0].keys, ["phone", "laptop"]);
    assert_eq!(plan.rules[0].routes, [RouteSet::Class(RateClass::Write), RouteSet::Streams]);
    assert_eq!(plan.rules[1].fault, FaultKind::Mute { lasting: Some(Duration::from_secs(30)), comments: true });
}

#[test]
fn key_may_have_any_name() {
    let keys = |text: &str| parse(text).unwrap().rules.into_iter().map(|rule| rule.keys).collect::<Vec<_>>();
    assert_eq!(keys("503=1% key=\"my phone\",laptop route=writes"), [["my phone", "laptop"]]);
    assert_eq!(keys("503=1% key=\"a, b; c # d\" # not \"this"), [["a, b; c # d"]]);
    assert_eq!(keys("cut=1% key=\"a b\" route=stream_events; mute=1% key=c route=streams"), [["a b"], ["c"]]);
}

#[test]
fn error_names_line_and_column() {
    for (text, line, column, problem) in [
        ("lots-answer=5%", 1, 1, "there is no fault `lots-answer`; did you mean lost-answer?"),
        ("cut=1%; lost-answer=5x", 1, 21, "`5x` is not a schedule"),
        ("cut=every:0", 1, 11, "`0` is not a number from 1"),
        ("cut=every:3requests", 1, 12, "unknown unit `requests`; this fault counts frames"),
        ("503=burst:3", 1, 11, "write a burst"),
        ("503=burst:3/5", 1, 13, "`5` needs a unit"),
        ("503=first", 1, 10, "`first` has no number; write first:3"),
        ("503=first route=reads", 1, 10, "`first` has no number"),
        ("cut=once; 503=1%", 1, 9, "`once` has no number"),
        ("503=every\u{3000}route=reads", 1, 10, "`every` has no number"),
        ("503=burst", 1, 10, "`burst` has no number; write burst:3/60s"),
        ("503=first:", 1, 11, "`first:` has no number"),
        ("503=101%", 1, 5, "`101%` is not a percentage"),
        ("cut=1%\n503=1% rout=create_task", 2, 8, "there is no attribute `rout`; did you mean route?"),
        ("503=1% route=get_me,createTsk", 1, 21, "there is no operation `createTsk`; did you mean create_task?"),
        ("503=1% for=3s", 1, 8, "this fault has no attribute `for`"),
        ("latency=1% by=2s-1s", 1, 18, "1s is shorter than 2s"),
        ("503", 1, 1, "`503` has no `=`"),
        ("503=", 1, 5, "`503=` has no value"),
        ("503=1% seed=3", 1, 8, "there is no attribute `seed`"),
        ("503=1% key=phone,svc_test_9f", 1, 18, "this is the secret text of a key"),
        ("seed=x; 503=1%", 1, 6, "`x` is not a whole number"),
        ("seed=-1; 503=1%", 1, 6, "`-1` is not a whole number from 0"),
        ("503=first:-1", 1, 11, "`-1` is not a number from 1"),
        (
            "503=first:99999999999999999999",
            1,
            11,
            "`99999999999999999999` is too large; the limit is 18446744073709551615",
        ),
        ("latency=1% by=-1s", 1, 15, "`-1s` is not a time such as 200ms, nor a range"),
        ("latency=1% by=1s-", 1, 15, "`1s-` is not a time such as 200ms, nor a range"),
        ("503=burst:1/0s", 1, 13, "`0s` must be longer than 0"),
        ("503=1% key=,", 1, 12, "an id or name of a key is missing here"),
        ("503=1% key=phone,", 1, 18, "an id or name of a key is missing here"),
        ("503=1% key=\"\"", 1, 12, "an id or name of a key is missing here"),
        ("503=1% key=\"my phone", 1, 12, "a double quote is not closed"),
        ("cut=1% route=create_task", 1, 14, "`create_task` has no frames"),
        ("mute=1% route=streams,reads", 1, 23, "`reads` has no frames"),
        ("503=1% route=get_index", 1, 14, "`get_index` needs no key"),
        ("# nothing", 1, 1, "the plan has no fault"),
        ("\u{feff}lots-answer=5%", 1, 1, "there is no fault `lots-answer`"),
    ] {
        let error = parse(text).unwrap_err();
        assert_eq!((error.line, error.column), (line, column), "{text}: {error}");
        assert!(error.problem.starts_with(problem), "{text}: {error}");
    }
}

#[test]
fn random_text_has_error_position_inside() {
    let pieces = [
        "503",
        "cut",
        "latency",
        "mute",
        "seed",
        "first",
        "once",
        "every",
        "burst",
        "always",
        "route",
        "key",
        "by",
        "for",
        "=",
        ":",
        ";",
        "/",
        ",",
        "-",
        "%",
        "#",
        "\"",
        " ",
        "\n",
        "\r\n",
        "\u{3000}",
        "\u{a0}",
        "\u{feff}",
        "\0",
        "é",
        "🏠",
        "3",
        "60s",
        "2s-1s",
        "frames",
        "reads",
        "create_task",
    ];
    let mut dice = fastrand::Rng::with_seed(1);
    for _ in 0..50_000 {
        let text: String = (0..dice.usize(1..14)).map(|_| pieces[dice.usize(..pieces.len())]).collect();
        let Err(error) = parse(&text) else { continue };
        let letters = text.lines().nth(error.line - 1).map_or(0, |line| line.chars().count());
        assert!((1..=letters + 1).contains(&error.column), "{text:?}: {error}");
    }
}

#[test]
fn attribute_given_twice_is_refused() {
    for (text, word) in [
        ("latency=always by=1s by=2s", "by=2s"),
        ("mute=always for=1s for=2s", "for=2s"),
        ("429=always retry-after=1 retry-after=2", "retry-after=2"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.to_string().contains("appears twice"), "{word}: {error}");
    }
    assert!(parse("503=always key=a key=b route=get_me route=list_rooms").is_ok());
}
