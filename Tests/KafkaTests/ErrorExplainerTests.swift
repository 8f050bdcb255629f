import Logging
import Testing

@testable import Kafka

/// Messages of librdkafka 2.0.2 and the clearer ones made of them.
@Suite struct ErrorExplainerTests {
    private let explainer = ErrorExplainer()
    private let refused = KafkaError(
        code: .ssl,
        message: "ssl://kafka:9093/bootstrap: SSL handshake failed: error:0A000086:SSL routines::certificate verify"
            + " failed: broker certificate could not be verified, verify that ssl.ca.location is correctly configured")

    @Test(arguments: [
        (10, "has expired"), (9, "is not valid yet"), (19, "is of no authority that is trusted here"),
        (62, "is for another host name"), (64, "is for another host name"), (7, "OpenSSL's error 7"),
    ])
    func aCertificateIsRefusedForAReason(code: Int32, reason: String) {
        #expect(!explainer.observeVerdict(code))
        let error = explainer.explained(refused)
        #expect(error.message.hasPrefix("ssl://kafka:9093/bootstrap: the broker's certificate"))
        #expect(error.message.contains(reason))
        #expect(error.code == .ssl)
    }

    @Test func aGoodCertificateIsGood() {
        #expect(explainer.observeVerdict(0))
        #expect(explainer.explained(refused).message == refused.message)
    }

    @Test(arguments: [
        (
            "Receive failed: error:0A000412:SSL routines::sslv3 alert bad certificate: SSL alert number 42",
            "ssl.certificate.location"
        ), ("SSL handshake failed: error:0A000418:SSL routines::tlsv1 alert unknown ca", "ssl.certificate.location"),
        ("SSL handshake failed: error:0A00010B:SSL routines::wrong version number", "security.protocol"),
    ])
    func anAlertIsExplained(words: String, property: String) {
        let error = explainer.explained(
            KafkaError(code: .transport, message: "ssl://kafka:9094/bootstrap: \(words)")
        )
        #expect(error.code == .ssl)
        #expect(error.message.hasPrefix("ssl://kafka:9094/bootstrap: "))
        #expect(error.message.contains(property))
    }

    @Test(arguments: [
        (
            KafkaError.Code.ssl,
            "SSL handshake failed: error:0A000126:SSL routines::unexpected eof while reading",
            true
        ),
        (
            .authentication,
            "SASL authentication error: SaslAuthenticateRequest failed: Local: Broker transport failure",
            false
        ),
    ])
    func aConnectionThatBreaksIsNoRefusal(code: KafkaError.Code, words: String, suspects: Bool) {
        let error = explainer.explained(
            KafkaError(code: code, message: "ssl://kafka:9093/bootstrap: \(words)")
        )
        #expect(!error.code.isRefusal)
        #expect(error.suspectsConfiguration == suspects)
    }

    @Test func aWrongPasswordIsARefusal() {
        let refusal = KafkaError(code: .authentication, message: "SASL authentication error: Authentication failed")
        #expect(explainer.explained(refusal).code.isRefusal)
    }

    @Test func thePartitionThatWasDeniedIsNamed() {
        let denied = KafkaError(
            code: .topicAuthorizationFailed,
            message: "Failed to add partition(s) to transaction on broker TxnCoordinator/1: Broker: Topic"
                + " authorization failed (after 3 ms)", requiresAbort: true)
        #expect(explainer.explained(denied).message == denied.message)
        let line = "Failed to add partition \"juice.stock\" [0] to transaction: Broker: Topic authorization failed"
        explainer.observe(facility: "ADDPARTS", line: "[thrd:main]: TxnCoordinator/1: \(line)")
        let bystander = "Failed to add partition \"juice.results\" [0] to transaction: Broker: Operation not attempted"
        explainer.observe(facility: "ADDPARTS", line: "[thrd:main]: TxnCoordinator/1: \(bystander)")
        let error = explainer.explained(denied)
        #expect(error.message == line)
        #expect(error.code == denied.code)
        #expect(error.remedy == .startOver)
    }

    @Test(arguments: [
        ("[thrd:app]:   sasl.oauthbearer.client.secret = s3cret", "[thrd:app]:   sasl.oauthbearer.client.secret = ********"),
        ("[thrd:app]:   client.id = till = 7", "[thrd:app]:   client.id = till = 7"),
        ("[thrd:main]: Group \"g\" assigned", "[thrd:main]: Group \"g\" assigned"),
    ])
    func aLoggedSecretIsHidden(line: String, shown: String) {
        #expect(KafkaConfiguration.hidingSecret(in: line) == shown)
    }

    @Test(
        arguments: [
            (4, "session.timeout.ms is a consumer property and will be ignored by this producer instance", .debug),
            (4, "linger.ms is a producer property and will be ignored by this consumer instance", .debug),
            (4, "request.required.acks is deprecated", .warning), (3, "127.0.0.1:9092/1: Connection refused", .error),
            (7, "Sent MetadataRequest", .debug),
        ] as [(Int32, String, Logger.Level)]
    )
    func propertiesOfOtherClientsAreNoWarning(syslog: Int32, line: String, level: Logger.Level) {
        #expect(ClientContext.level(syslog: syslog, line: "[thrd:app]: \(line)") == level)
    }

    @Test func aWrongKeyPasswordIsSuspected() {
        let reason = "ssl.key.location failed: error:0A080009:SSL routines::PEM lib"
        #expect(KafkaError.refusedConfiguration(reason).message == "\(reason) (is ssl.key.password right?)")
        #expect(KafkaError.refusedConfiguration("other").message == "other")
    }
}
