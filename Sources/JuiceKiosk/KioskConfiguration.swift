import JuiceMaker
import JuiceMessages
import Kafka

/// What a kiosk shows, which Kafka cluster it uses, and who may do what.
public struct KioskConfiguration: Sendable {
    /// The properties that all Kafka clients share: brokers, security.
    public var kafka: KafkaConfiguration
    /// The names of the service's topics.
    public var topics: TopicNames
    /// The service's consumer group, whose lag the board shows.
    public var group: String
    /// The broker features that the clients can rely on.
    public var capabilities: BrokerCapabilities
    /// The menu on the page; it must be the service's.
    public var menu: Menu
    /// The ids of the stores to show; nil shows `main` and every store that has stock.
    public var stores: [String]?
    /// Whether orders are accepted for any other store, too. The first order creates the store.
    public var takesAnyStore: Bool
    /// The page's language until the visitor picks another.
    public var language: Language
    /// The token that staff need to edit stock; nil disables editing.
    public var staffToken: StaffToken?
    /// The host names under which browsers reach the page, besides `localhost` and IP addresses.
    public var hostNames: [String]
    /// How many pages can be open at once. Each holds one connection for its event stream and uses more for its requests.
    public var mostPages = 2000
    /// The service's duplicate window: how long after an order the page offers to cancel it.
    public var duplicateWindow = Duration.seconds(3600)
    /// How many orders and cancels are accepted per second.
    public var limits: OrderLimits
    /// The proxies whose `X-Forwarded-For` is trusted.
    public var trustedProxies: [AddressRange]

    /// By default: all stores that have stock, the built-in menu, English, and no stock editing.
    public init(
        kafka: KafkaConfiguration, topics: TopicNames, group: String, capabilities: BrokerCapabilities = .full,
        menu: Menu = .standard, stores: [String]? = nil, takesAnyStore: Bool = false, language: Language = .english,
        staffToken: StaffToken? = nil, hostNames: [String] = [], limits: OrderLimits = OrderLimits(),
        trustedProxies: [AddressRange] = []
    ) {
        self.kafka = kafka
        self.topics = topics
        self.group = group
        self.capabilities = capabilities
        self.menu = menu
        self.stores = stores
        self.takesAnyStore = takesAnyStore
        self.language = language
        self.staffToken = staffToken
        self.hostNames = hostNames
        self.limits = limits
        self.trustedProxies = trustedProxies
    }
}

extension KioskConfiguration {
    /// Which stores are shown, and which accept orders.
    var rule: StoreRule { StoreRule(stores: stores, takesAny: takesAnyStore) }

    /// The configuration of the one consumer that reads answers and stock for all pages.
    var feed: KafkaConfiguration {
        KafkaConfiguration([
            "fetch.wait.max.ms": "\(capabilities.fetchWait)",
            "queued.max.messages.kbytes": "16384",
        ])
        .merging(kafka.properties).merging(reading)
        // librdkafka requires a group id; without a subscription the consumer joins no group.
        .merging(["group.id": "juice-kiosk"])
    }

    /// The configuration of the client that asks for the committed offsets of the service's group. It neither joins nor reads.
    var watch: KafkaConfiguration { kafka.merging(reading).merging(["group.id": group]) }

    /// The configuration of the producer of commands: idempotent, and partitioned by store.
    var orders: KafkaConfiguration {
        KafkaConfiguration(["linger.ms": "0", "message.timeout.ms": "8000"]).merging(kafka.properties).merging([
            "enable.idempotence": "true", "partitioner": "murmur2_random",
        ])
    }

    private var reading: [String: String] {
        [
            "enable.auto.commit": "false",
            "enable.auto.offset.store": "false",
            "isolation.level": "read_committed",
            "enable.partition.eof": "true",
            "auto.offset.reset": "earliest",
        ]
    }
}
