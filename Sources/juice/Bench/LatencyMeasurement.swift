import JuiceService

/// Measures latency, round after round.
struct LatencyMeasurement {
    private let site: BenchSite
    private let plan: LatencyPlan
    private let serviceArguments: [String]

    init(_ site: BenchSite, _ plan: LatencyPlan) throws(Failure) {
        self.site = site
        self.plan = plan
        serviceArguments = try BenchMenu.arguments(initialStock: plan.initialStock, site)
    }

    func report() throws -> LatencyReport {
        var rounds: [LatencyReport.Round] = []
        for number in 1...plan.rounds {
            let isServiceFirst = number % 2 == 1
            let first = try isServiceFirst ? service(number) : copy(number)
            let second = try isServiceFirst ? copy(number) : service(number)
            rounds.append(
                LatencyReport.Round(
                    service: isServiceFirst ? first : second,
                    copy: isServiceFirst ? second : first
                )
            )
        }
        return LatencyReport(machine: site.machine, settings: plan, rounds: rounds)
    }

    private func service(_ number: Int) throws -> LatencyFigures {
        let topics = try site.makeServiceTopics("\(number).service", partitions: plan.partitions)
        defer { site.delete(topics: topics.all) }
        let ready = site.makePath("ready")
        let group = topics.orders + ".group"
        let child = try site.startService(topics, group: group, readyFile: ready, arguments: serviceArguments)
        defer { site.stop(child) }
        try site.waitUntilReady(child, readyFile: ready)
        let title = "round \(number) of \(plan.rounds), service"
        return try measure(child, from: topics.orders, to: topics.results, title)
    }

    private func copy(_ number: Int) throws -> LatencyFigures {
        let input = try site.makeTopic("\(number).copy.orders", partitions: plan.partitions)
        let output = try site.makeTopic("\(number).copy.results", partitions: plan.partitions)
        defer { site.delete(topics: [input, output]) }
        let ready = site.makePath("ready")
        let child = try site.startCopy(from: input, to: output, group: input + ".group", readyFile: ready)
        defer { site.stop(child) }
        try site.waitUntilReady(child, readyFile: ready)
        return try measure(child, from: input, to: output, "round \(number) of \(plan.rounds), bare copy")
    }

    private func measure(
        _ child: BenchChild,
        from input: String,
        to output: String,
        _ title: String
    ) throws -> LatencyFigures {
        let reader = try AnswerStream(site.connection, topic: output, partitions: plan.partitions)
        let sender = OpenLoopSender(site.connection, topic: input, plan: plan)
        sender.start()
        defer { sender.stop() }
        var start: ContinuousClock.Instant?
        while start == nil {
            try site.checkInterruption()
            start = try sender.firstDue()
            Pause.briefly()
        }
        var times = AnswerTimes(plan: plan, start: start ?? .now)
        var deadline = Deadline(after: BenchSite.patience)
        while !times.isComplete {
            try site.checkInterruption()
            try child.check()
            _ = try sender.firstDue()
            let now = try reader.poll { number, now throws(Failure) in try times.note(number, at: now) }
            if now != nil { deadline = Deadline(after: BenchSite.patience) }
            times.sample(processorTime: child.processorTime)
            guard !deadline.isOver else {
                throw child.failure(
                    "has answered \(times.count) of \(plan.orders) orders and answers no more"
                )
            }
            site.progress.show(title, times.count, of: plan.orders)
        }
        let figures = times.figures(lateness: sender.lateness)
        site.progress.finish(
            "\(title): p50 \(Figure.text(figures.milliseconds.p50)) ms, p99 \(Figure.text(figures.milliseconds.p99)) ms"
        )
        return figures
    }
}
