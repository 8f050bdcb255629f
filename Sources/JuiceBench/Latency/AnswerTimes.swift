import JuiceClient

/// When each order was answered.
struct AnswerTimes {
    private let plan: LatencyPlan
    private let start: ContinuousClock.Instant
    /// In milliseconds since the order was due; negative while it has no answer.
    private var latencies: [Double]
    private(set) var count = 0
    private var first: (count: Int, processorTime: Duration?)?
    private var last: (count: Int, processorTime: Duration?)?

    init(plan: LatencyPlan, start: ContinuousClock.Instant) {
        self.plan = plan
        self.start = start
        latencies = Array(repeating: -1, count: plan.orders)
    }

    var isComplete: Bool { count == plan.orders }

    /// Records the answer to an order.
    ///
    /// - Throws: ``Failure`` if it was answered before, or never sent.
    mutating func record(_ number: Int, at time: ContinuousClock.Instant) throws(Failure) {
        guard latencies.indices.contains(number), latencies[number] < 0 else {
            throw Failure(.software, "order \(number) was answered twice, or never sent")
        }
        latencies[number] = max(0, (time - start - plan.due(number)) / .milliseconds(1))
        count += 1
    }

    /// Samples the processor time used so far. Samples during the warm-up are ignored.
    mutating func sample(processorTime: Duration?) {
        guard count >= plan.warmUpOrders else { return }
        if first == nil { first = (count, processorTime) }
        last = (count, processorTime)
    }

    /// The figures without the warm-up.
    ///
    /// - Parameter lateness: how late each order was sent, in milliseconds.
    func figures(lateness: [Double]) -> LatencyFigures {
        var cpu: Double?
        if let first, let last, last.count > first.count, let end = last.processorTime, let start = first.processorTime {
            cpu = (end - start) / .microseconds(1) / Double(last.count - first.count)
        }
        let late = lateness.dropFirst(plan.warmUpOrders).sorted()
        return LatencyFigures(
            milliseconds: LatencyDistribution(sorted: latencies.dropFirst(plan.warmUpOrders).sorted()),
            cpuMicrosecondsPerOrder: cpu, senderLateMilliseconds: LatencyDistribution(sorted: late))
    }
}
