/// What a measurement found: a table for people, JSON for programs, and whether its goals are met.
package protocol BenchReport: Encodable {
    /// Where it was measured.
    var machine: BenchMachine { get }
    /// What was to be reached.
    var goals: [Goal] { get }
    /// What was measured: a line above the table.
    var head: String { get }
    /// The figures, round by round.
    var table: FigureTable { get }
}

/// A measurement that needs a broker.
package protocol BrokerMeasurement {
    /// Measures, and blocks its thread meanwhile.
    ///
    /// - Throws: ``Interrupted`` when the site is told to end; `Failure` for what keeps it from measuring.
    func measure(at site: BenchSite) throws -> any BenchReport
}

/// How far a measurement is.
package enum BenchProgress {
    /// Part of a step is done.
    case step(String, done: Int, total: Int)
    /// A step is done, with what to tell of it.
    case finished(String)
    /// Something is left undone that somebody should know of.
    case warning(String)
}

/// Somebody wants the measurement to end.
package struct Interrupted: Error {}
