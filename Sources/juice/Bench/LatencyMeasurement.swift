import JuiceService

/// Measures latency, round after round.
struct LatencyMeasurement {
    let site: BenchSite
    let plan: LatencyPlan

    func report() throws -> LatencyReport {
        let rounds = try (1...plan.rounds).map { number in
            let (service, copy) = try inTurns(number) {
                try self.service(number)
            } _: {
                try self.copy(number)
            }
            return LatencyReport.Round(service: service, copy: copy)
        }
        return LatencyReport(machine: site.machine, settings: plan, rounds: rounds)
    }

    private func service(_ number: Int) throws -> LatencyFigures {
        let topics = try site.makeServiceTopics("\(number).service", partitions: plan.partitions)
        defer { site.delete(topics: topics.all) }
        let group = topics.orders + ".group"
        let child = try site.startService(topics, group: group, initialStock: plan.initialStock)
        defer { site.stop(child) }
        try site.waitUntilReady(child)
        let title = "round \(number) of \(plan.rounds), service"
        return try measure(child, from: topics.orders, to: topics.results, title)
    }

    private func copy(_ number: Int) throws -> LatencyFigures {
        let input = try site.makeTopic("\(number).copy.orders", partitions: plan.partitions)
        let output = try site.makeTopic("\(number).copy.results", partitions: plan.partitions)
        defer { site.delete(topics: [input, output]) }
        let child = try site.startCopy(from: input, to: output, group: input + ".group")
        defer { site.stop(child) }
        try site.waitUntilReady(child)
        return try measure(child, from: input, to: output, "round \(number) of \(plan.rounds), bare copy")
    }

    private func measure(
        _ child: BenchChild,
        from input: String,
        to output: String,
        _ title: String
    ) throws -> LatencyFigures {
        let reader = try AnswerStream(site.connection, topic: output)
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
