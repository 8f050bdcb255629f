/// When each order was answered.
struct AnswerTimes {
    private let schedule: Schedule
    private let start: ContinuousClock.Instant
    /// In milliseconds since the order was due; negative while it has no answer.
    private var latencies: [Double]
    private(set) var count = 0
    private var first: ThroughputSample?
    private var last: ThroughputSample?
    /// How late each order was sent, in milliseconds.
    var lateness: [Double] = []

    init(_ schedule: Schedule, start: ContinuousClock.Instant) {
        (self.schedule, self.start) = (schedule, start)
        latencies = Array(repeating: -1, count: schedule.orders)
    }

    /// Records the answer to an order. Throws ``ToolError`` if it was answered before, or never sent.
    mutating func record(_ number: Int, at time: ContinuousClock.Instant) throws {
        guard latencies.indices.contains(number), latencies[number] < 0 else {
            throw ToolError("order \(number) was answered twice, or never sent")
        }
        latencies[number] = max(0, (time - start - schedule.due(number)) / .milliseconds(1))
        count += 1
    }

    /// Samples the processor time used so far. Samples during the warm-up are ignored.
    mutating func sample(processorTime: Duration?, brokerTime: Duration? = nil) {
        guard count >= schedule.warmUp else { return }
        last = ThroughputSample(done: count, processorTime: processorTime, brokerTime: brokerTime)
        first = first ?? last
    }

    /// A percentile of the latencies without the warm-up, in milliseconds.
    func latency(_ percent: Double) -> Double? { percentile(percent, of: latencies) }

    /// A percentile of how late orders were sent: the sender's own share of the latencies.
    func lateness(_ percent: Double) -> Double? { percentile(percent, of: lateness) }

    private func percentile(_ percent: Double, of values: [Double]) -> Double? {
        Figure.percentile(percent, ofSorted: values.dropFirst(schedule.warmUp).sorted())
    }

    /// What answers cost, without the warm-up.
    var throughput: Throughput? { first.flatMap { first in last.flatMap { Throughput(from: first, to: $0) } } }
}
