import JuiceMaker
import JuiceMessages
import JuiceRestockBot

/// What a restock bot is to do, as the settings say it.
struct RestockBotPlan: Sendable {
    let rules: RefillRules
    /// The bots that share the work: a consumer group.
    let group: String
    /// The group of the service, whose offsets tell which restocks it has read.
    let serviceGroup: String
    /// Ends once nothing is short and every refill is answered, within this time; nil goes on.
    let onceWithin: Duration?

    static let defaultGroup = "juice-restock-bot"
    static let defaultLow = 5
    static let defaultTarget = 30

    init(
        rules: RefillRules,
        group: String = defaultGroup,
        serviceGroup: String = "juice-maker",
        onceWithin: Duration? = nil
    ) {
        self.rules = rules
        self.group = group
        self.serviceGroup = serviceGroup
        self.onceWithin = onceWithin
    }

    init(_ settings: Settings) throws(Failure) {
        let group =
            try settings.value(.botGroup, "1 to \(RefillID.maximumGroupLength) bytes long") { text in
                (1...RefillID.maximumGroupLength).contains(text.utf8.count) ? text : nil
            } ?? Self.defaultGroup
        let serviceGroup = settings.string(.group) ?? "juice-maker"
        guard group != serviceGroup else {
            throw Failure(
                .configuration,
                "--bot-group and --group are both \(group.printable); the bots and the service are two groups"
            )
        }
        self.init(
            rules: try Self.rules(settings),
            group: group,
            serviceGroup: serviceGroup,
            onceWithin: try settings.boolean(.once) ? settings.timeout() : nil
        )
    }

    private static func rules(_ settings: Settings) throws(Failure) -> RefillRules {
        let levels = 0...FruitStore.maximumLevel
        let low = try settings.integer(.low, in: levels) ?? defaultLow
        let target = try settings.integer(.target, in: levels) ?? defaultTarget
        let stores = try settings.value(.stores, "names of 1 to \(StoreID.maximumLength) bytes") { text in
            names(text) { (1...StoreID.maximumLength).contains($0.utf8.count) }
        }
        var fruits: [String]?
        if let given = try settings.value(
            .fruits,
            "fruits, separated by commas",
            { names($0) { !$0.isEmpty } }
        ) {
            let menu = MenuNames(menu: try settings.menu())
            fruits = try given.map { name throws(Failure) in try menu.fruit(name) }
        }
        guard let rules = RefillRules(low: low, target: target, stores: stores, fruits: fruits) else {
            throw Failure(
                .usage,
                "--low \(low) must be below --target \(target)",
                hint: "a fruit with LOW or fewer left is refilled up to TARGET"
            )
        }
        return rules
    }

    private static func names(_ text: String, _ isFit: (String) -> Bool) -> [String]? {
        let names = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        return names.allSatisfy(isFit) ? names : nil
    }
}
