import Foundation
import JuiceClient
import Kafka

/// The machine and software versions of a measurement.
package struct BenchMachine: Encodable, Equatable {
    let cores: Int
    let system: String
    /// `host:port` of each broker; Kafka's protocol does not report their version.
    let brokers: [String]
    let librdkafka: String
    let juice: String

    /// This machine.
    init(brokers: [String]) {
        var names = utsname()
        uname(&names)
        func text(_ field: some Any) -> String {
            withUnsafeBytes(of: field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        }
        cores = ProcessInfo.processInfo.activeProcessorCount
        system = "\(text(names.sysname)) \(text(names.release)) \(text(names.machine))"
        self.brokers = brokers
        librdkafka = KafkaLibrary.version
        juice = JuiceVersion.current
    }

    /// A line for people, above a table.
    package var line: String {
        let machine = "\(cores) cores, \(system)"
        if brokers.isEmpty { return machine }
        return machine + ", librdkafka \(librdkafka), broker \(brokers.joined(separator: ", "))"
    }
}
