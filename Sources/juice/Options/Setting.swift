/// All settings. Each can be given as an option, in the environment and in the configuration file.
enum Setting: String, CaseIterable, Sendable {
    // Kafka and logging.
    case bootstrapServers = "bootstrap-servers"
    case requireBrokers = "require-brokers"
    case topicPrefix = "topic-prefix"
    case kafkaProperty = "kafka-property"
    case kafkaPropertyFile = "kafka-property-file"
    case kafkaDebug = "kafka-debug"
    case logLevel = "log-level"
    case logFormat = "log-format"
    // The menu and the language.
    case menu
    case language
    // The service.
    case group
    case instanceID = "instance-id"
    case workers
    case duplicateWindow = "duplicate-window"
    case duplicateIDs = "duplicate-ids"
    case answerBytes = "answer-bytes"
    case readyFile = "ready-file"
    case http
    case adminHTTP = "admin-http"
    // The topics.
    case createTopics = "create-topics"
    case partitions
    case replicationFactor = "replication-factor"
    // Commands and their answers.
    case store
    case quantity
    case orderID = "order-id"
    case restockID = "restock-id"
    case unchecked
    case wait
    case timeout
    case json
    case follow
    case last
    case since
    case notes
    case watch
    // The restock bot.
    case botGroup = "bot-group"
    case low
    case target
    case fruits
    case once
    // Dead letters.
    case code
    case source
    case pending
    case raw
    case key
    case value
    case all
    case yes
    // Anchors.
    case topic
    case partition
    case offset
    case earliest
    case latest
    case after
    case reason
    case dryRun = "dry-run"
    // The kiosk.
    case kiosk
    case staffTokenFile = "staff-token-file"
    case hostNames = "host-names"
    case anyStore = "any-store"
    case orderRate = "order-rate"
    case addressRate = "address-rate"
    case trustedProxies = "trusted-proxies"
    // Simulated traffic.
    case orders
    case stores
    case seed

    /// The environment variable of this setting, such as `JUICE_BOOTSTRAP_SERVERS`.
    var environmentName: String { "JUICE_" + rawValue.uppercased().replacing("-", with: "_") }

    /// The variable for the configuration file, which cannot be set in the file itself.
    static let configEnvironmentName = "JUICE_CONFIG"
}
