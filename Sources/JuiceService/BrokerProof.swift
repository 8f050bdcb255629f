import JuiceMessages
import Kafka

/// A broker property that exactly-once processing rests on, and whether brokers were seen to have it. Some brokers that speak
/// Kafka's protocol accept transactions and answer commits, yet show aborted records to readers of committed ones.
package struct BrokerProof: Sendable, Encodable {
    package enum Property: String, Sendable, CaseIterable, Encodable {
        case hiddenWhileOpen, hiddenOnceAborted, formerOwnerFenced, offsetsRise, settingsReadable

        package var text: String {
            switch self {
            case .hiddenWhileOpen: "records of an open transaction are hidden"
            case .hiddenOnceAborted: "aborted records are hidden"
            case .formerOwnerFenced: "a producer whose id was taken over is refused"
            case .offsetsRise: "offsets rise"
            case .settingsReadable: "topics' settings can be read"
            }
        }
    }

    /// Whether it is proven: just now, or by the start that began the journal.
    package enum Proven: String, Sendable, Encodable { case now, before, untried, no }

    package let property: Property
    package let proven: Proven
    /// What brokers do instead, in a sentence.
    package let fault: String?

    package init(_ property: Property, _ proven: Proven) { (self.property, self.proven, fault) = (property, proven, nil) }

    package init(_ property: Property, fault: String?) {
        (self.property, proven, self.fault) = (property, fault == nil ? .now : .no, fault)
    }

    /// Whether brokers described the settings of these topics when they were asked.
    static func settings(of topics: some Sequence<ClusterMetadata.Topic>) -> Self {
        // Every Kafka topic has this setting, whether or not it was set.
        let silent = topics.filter { $0.settings?["cleanup.policy"] == nil }.map(\.name)
        return Self(.settingsReadable, fault: silent.isEmpty ? nil : "they do not describe \(list("topic", silent))")
    }
}

extension [BrokerProof] {
    /// What an operator must know about properties that brokers lack.
    package var problems: [TopicCheck.Problem] {
        compactMap { proof in
            proof.fault.map {
                .init(
                    "commands cannot be answered exactly once on these brokers: \($0)",
                    fix: "use brokers of which all of docs/OPERATIONS.md#other-brokers is true, such as Apache Kafka")
            }
        }
    }
}
