/// How fast a process handled orders, and what that cost.
struct Throughput: Encodable, Equatable {
    let ordersPerSecond: Double
    /// Processor time of the process, in microseconds; nil if the system does not report it.
    let cpuMicrosecondsPerOrder: Double?
    /// Resident memory at the end; nil if the system does not report it.
    let residentBytes: Double?
}

/// The progress of a process at one moment.
struct ThroughputSample {
    let time: ContinuousClock.Instant
    let done: Int
    let processorTime: Duration?

    /// The throughput since an earlier sample; nil if there was no progress.
    func since(_ start: ThroughputSample, residentBytes: Int?) -> Throughput? {
        let orders = Double(done - start.done)
        let seconds = (time - start.time) / .seconds(1)
        guard orders > 0, seconds > 0 else { return nil }
        var cpu: Double?
        if let end = processorTime, let start = start.processorTime { cpu = (end - start) / .microseconds(1) / orders }
        return Throughput(
            ordersPerSecond: orders / seconds, cpuMicrosecondsPerOrder: cpu, residentBytes: residentBytes.map(Double.init))
    }
}
