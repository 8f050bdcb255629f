import JuiceClient
import JuiceMessages
import JuiceService
import Kafka

/// The settings that the service would use, and where each value comes from.
struct EffectiveSettings {
    struct Entry: Encodable, Equatable {
        /// The setting's name; for a Kafka property, its name after `kafka-property `.
        let name: String
        /// The value as in a file, secrets as `********`; nil if there is none.
        let value: String?
        /// Where it was given, or "default".
        let source: String
    }

    let entries: [Entry]

    /// - Throws: the ``Failure`` that `juice serve` would report.
    init(_ settings: Settings) throws(Failure) {
        let plan = try ServicePlan(settings)
        let configuration = plan.configuration
        let effective: [(Setting, String?)] = [
            (.bootstrapServers, configuration.bootstrapServers.isEmpty ? nil : configuration.bootstrapServers),
            (.requireBrokers, "\(try settings.boolean(.requireBrokers))"),
            (.topicPrefix, settings.string(.topicPrefix) ?? TopicNames.standardPrefix),
            (.kafkaPropertyFile, settings.string(.kafkaPropertyFile)),
            (.kafkaDebug, settings.string(.kafkaDebug)),
            (.logLevel, try settings.logLevel(default: .notice).rawValue),
            (.logFormat, try settings.logFormat().rawValue),
            (.menu, settings.string(.menu)),
            (.language, configuration.language.rawValue),
            (.group, configuration.group),
            (.instanceID, configuration.instanceID),
            (.workers, "\(configuration.workers)"),
            (.duplicateWindow, "\(configuration.duplicateWindow.age / 1000)"),
            (.duplicateIDs, "\(configuration.duplicateWindow.count)"),
            (.answerBytes, "\(configuration.answerBytes)"),
            (.http, plan.http?.description),
            (.readyFile, settings.string(.readyFile)),
            (.createTopics, "\(plan.createsTopics)"),
            (.partitions, "\(plan.partitions)"),
            (.replicationFactor, plan.replicationFactor.map { "\($0)" }),
        ]
        let properties = configuration.kafkaProperties.sorted { $0.key < $1.key }
        entries =
            effective.map { setting, value in
                let source = settings.all(setting).first?.source
                return Entry(name: setting.rawValue, value: value, source: source?.name(of: setting) ?? "default")
            }
            + properties.map { name, value in
                Entry(
                    name: "\(Setting.kafkaProperty.rawValue) \(name)",
                    value: KafkaConfiguration.isSecret(name) ? "********" : value,
                    source: KafkaProperties.source(of: name, in: settings))
            }
    }
}

extension Settings.Source {
    /// The name for people.
    func name(of setting: Setting) -> String {
        switch self {
        case .commandLine: "option"
        case .environment: "environment \(setting.environmentName)"
        case .file(let path): "file \(path)"
        }
    }
}
