/// The result of a measurement: a table for people, JSON for programs, and the goals.
package protocol BenchReport: Encodable {
    /// The machine.
    var machine: BenchMachine { get }
    /// The goals and whether they are met.
    var goals: [Goal] { get }
    /// A line above the table that says what was measured.
    var head: String { get }
    /// The figures of each round.
    var table: FigureTable { get }
}

/// A measurement that needs a broker.
package protocol BrokerMeasurement {
    /// Measures. It blocks the calling thread.
    ///
    /// - Throws: ``Interrupted`` if the user interrupts it; `Failure` if it cannot measure.
    func measure(at site: BenchSite) throws -> any BenchReport
}

/// The progress of a measurement.
package enum BenchProgress {
    /// A step is in progress.
    case step(String, done: Int, total: Int)
    /// A step is done; the text has its result.
    case finished(String)
    /// Something could not be cleaned up.
    case warning(String)
}

/// The user interrupted the measurement.
package struct Interrupted: Error {}
